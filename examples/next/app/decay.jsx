'use client';
// A client component: the kernels run in the browser. `load` is imported when it is needed, apart from the page's code.
import { useEffect, useState } from 'react';

export default function Decay() {
  const [head, setHead] = useState(0);
  const [rows, setRows] = useState();
  useEffect(() => {
    let isCurrent = true;
    async function compute() {
      const { load } = await import('ropewalk');
      const rw = await load();
      const { data, shape } = rw.alibiBias({ heads: 8, queries: 1, keys: 8 });
      const keys = shape[2];
      if (isCurrent) setRows([...data.subarray(head * keys, (head + 1) * keys)]);
    }
    compute();
    return () => {
      isCurrent = false;
    };
  }, [head]);
  return (
    <section>
      <h2>ALiBi’s bias of the newest token</h2>
      <label>
        head{' '}
        <input type="range" min="0" max="7" value={head} onChange={(event) => setHead(Number(event.target.value))} />
      </label>
      <output>{rows?.map((bias) => bias.toFixed(3)).join(' ')}</output>
    </section>
  );
}
