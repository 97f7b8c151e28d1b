// scripts/before-publish.mjs refuses a release that is not in order, and names each problem.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { problemsOf } from '../../scripts/before-publish.mjs';

const address = 'https://example.org/ropewalk';
const ready = {
  manifest: { version: '1.2.3', repository: { url: `git+${address}.git` }, homepage: address, bugs: { url: address } },
  changelog: '# Changelog\n\n## 1.2.3\n\nText.\n',
  citation: 'type: software\nversion: 1.2.3\n',
  tags: ['v1.2.3', ''],
  status: '',
};

test('a release in order has no problem', () => assert.deepEqual(problemsOf(ready), []));

for (const [change, problem] of [
  [{ manifest: { ...ready.manifest, repository: undefined } }, /^package.json: repository.url is undefined; expected/],
  [{ manifest: { ...ready.manifest, homepage: 'http://example.org' } }, /^package.json: homepage is http:/],
  [{ manifest: { ...ready.manifest, bugs: 'none' } }, /^package.json: bugs.url is undefined/],
  [{ changelog: '# Changelog\n\n## Unreleased\n' }, /^CHANGELOG.md has no section "## 1.2.3"/],
  [{ citation: 'version: 1.2.2\n' }, /^CITATION.cff does not name version 1.2.3/],
  [{ tags: ['v1.2.2'] }, /^this commit has no tag v1.2.3/],
  [{ status: ' M README.md\n' }, /not committed:\n M README.md$/],
]) {
  test(`refused: ${problem.source}`, () => {
    const problems = problemsOf({ ...ready, ...change });
    assert.equal(problems.length, 1);
    assert.match(problems[0], problem);
  });
}

test('npm publish asks it first', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const text = execFileSync('npm', ['pkg', 'get', 'scripts.prepublishOnly'], { cwd: root, encoding: 'utf8' });
  assert.match(JSON.parse(text), /^node scripts\/before-publish\.mjs && /);
});
