// A server component: computed while the page is built, or for each request. The browser gets only the result.
import { load } from 'ropewalk';
import Decay from './decay.jsx';

export default async function Page() {
  const rw = await load();
  const distances = [-64, -8, -1, 0, 1, 8, 64];
  const buckets = rw.t5Buckets(distances);
  return (
    <main>
      <h1>T5’s bucket of each distance</h1>
      <ul>
        {distances.map((distance, i) => (
          <li key={distance}>
            {distance}: {buckets[i]}
          </li>
        ))}
      </ul>
      <Decay />
    </main>
  );
}
