// Runs cases on an instance of one build; gives { status, detail, worst } for each.
import { compare, inputsOf } from './arrays.mjs';
import { operations } from './operations/index.mjs';
import { Unsupported, WrongResult } from './operations/operation.mjs';

export class Session {
  #load;
  #rw;
  #healthyBits;

  constructor(load) {
    this.#load = load;
  }

  async run(each) {
    this.#rw ??= await this.#load();
    this.#healthyBits ??= healthCheck(this.#rw);
    const verdict = await this.#verdict(each);
    // A later case must not suffer from an instance that this one broke.
    if (verdict.status === 'failed') this.#rw = undefined;
    return verdict;
  }

  async #verdict(each) {
    const operation = operations[each.op];
    if (operation === undefined) return { status: 'skipped', detail: `operation ${each.op}` };
    let results;
    try {
      results = await operation(this.#rw, each.params, inputsOf(each.inputs));
    } catch (error) {
      if (error instanceof Unsupported) return { status: 'skipped', detail: `${each.op}: ${error.message}` };
      if (error instanceof WrongResult) return { status: 'failed', detail: error.message };
      return this.#refusal(each, error);
    }
    if (each.expect === 'error') return { status: 'failed', detail: 'was computed; expected an error' };
    return judge(each, results);
  }

  #refusal(each, error) {
    const failed = (detail) => ({ status: 'failed', detail });
    if (each.expect === undefined && !mayBeRefused(each, error)) return failed(`threw ${described(error)}`);
    if (!isOrdinary(error)) return failed(`was refused with ${described(error)}, no ordinary error`);
    try {
      if (healthCheck(this.#rw) === this.#healthyBits) return { status: 'passed', worst: 0 };
      return failed('was refused, and the next good call gave other bits');
    } catch (after) {
      return failed(`was refused, and the next good call threw ${described(after)}`);
    }
  }
}

function judge(each, results) {
  let worst = 0;
  for (const [name, want] of Object.entries(each.outputs)) {
    if (results[name] === undefined) return { status: 'skipped', detail: `${each.op}: output ${name}` };
    const verdict = compare(name, results[name], want);
    if (verdict.problem !== undefined) return { status: 'failed', detail: verdict.problem, worst: verdict.worst };
    worst = Math.max(worst, verdict.worst);
  }
  return { status: 'passed', worst };
}

// Negative positions are the one thing that a case may ask for and an API may refuse.
function mayBeRefused(each, error) {
  return /negative/.test(each.note ?? '') && error instanceof RangeError && error.argument?.startsWith('positions');
}

function isOrdinary(error) {
  return error instanceof Error && !(error instanceof WebAssembly.RuntimeError) && error.name !== 'InstanceLostError';
}

const described = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

// Bits of a call that must not change, whatever was refused before it.
function healthCheck(rw) {
  const plan = rw.rope({ headDim: 8 });
  const x = plan.rotate({ data: Float32Array.from({ length: 40 }, (_, i) => Math.fround(Math.sin(i))), shape: [5, 8] });
  const { out } = rw.attention(x, x, x, { causal: true });
  plan.dispose();
  return String(new Uint32Array(out.data.buffer));
}
