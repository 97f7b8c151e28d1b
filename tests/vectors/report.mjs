// The runner's output: failed cases as they occur, a line per group and build, skipped cases, and totals.

const statuses = ['passed', 'failed', 'skipped'];

export class Report {
  #totals = { passed: 0, failed: 0, skipped: 0 };
  #group = { passed: 0, failed: 0, skipped: 0, worst: 0 };
  #skips = new Map();

  get failed() {
    return this.#totals.failed;
  }

  note(text) {
    console.log(text);
  }

  add(build, group, { name }, { status, detail, worst = 0 }) {
    this.#totals[status] += 1;
    this.#group[status] += 1;
    this.#group.worst = Math.max(this.#group.worst, worst);
    if (status === 'failed') console.log(`FAILED ${name} (${group}, ${build}): ${detail}`);
    if (status === 'skipped') this.#skips.set(detail, (this.#skips.get(detail) ?? 0) + 1);
  }

  groupDone(build, group) {
    const { worst, passed } = this.#group;
    const counts = statuses.map((status) => `${String(this.#group[status]).padStart(4)} ${status}`).join('');
    const error = passed > 0 || worst > 0 ? `  worst error ${worst.toFixed(3)} of its tolerance` : '';
    console.log(`${build.padEnd(8)} ${group.padEnd(26)}${counts}${error}`);
    this.#group = { passed: 0, failed: 0, skipped: 0, worst: 0 };
  }

  summary() {
    for (const [what, count] of this.#skips) console.log(`skipped ${what}: ${count}`);
    console.log(statuses.map((status) => `${this.#totals[status]} ${status}`).join(', '));
  }
}
