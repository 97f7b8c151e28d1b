// What must be in order before `npm publish`, which runs this first (prepublishOnly): the public address, which is filled
// in once, in package.json, and everything that names the version. Prints each problem and exits with 1.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file) => readFileSync(`${root}${file}`, 'utf8');

const isAddress = (text) => typeof text === 'string' && URL.canParse(text) && /^(git\+)?https:/.test(text);

/**
 * The problems of a release, in sentences.
 *
 * @param release the manifest as an object; CHANGELOG.md and CITATION.cff as text; the tags of the commit, and what
 * `git status --porcelain` prints.
 */
export function problemsOf({ manifest, changelog, citation, tags, status }) {
  const { version, repository, homepage, bugs } = manifest;
  const addresses = { 'repository.url': repository?.url, homepage, 'bugs.url': bugs?.url };
  const problems = Object.entries(addresses)
    .filter(([, address]) => !isAddress(address))
    .map(([name, address]) => `package.json: ${name} is ${address}; expected the public https address`);
  if (!changelog.includes(`\n## ${version}\n`)) problems.push(`CHANGELOG.md has no section "## ${version}"`);
  if (!citation.includes(`\nversion: ${version}\n`)) problems.push(`CITATION.cff does not name version ${version}`);
  if (!tags.includes(`v${version}`)) problems.push(`this commit has no tag v${version}`);
  if (status !== '') problems.push(`files are changed and not committed:\n${status.trimEnd()}`);
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const problems = problemsOf({
    manifest: JSON.parse(read('package.json')),
    changelog: read('CHANGELOG.md'),
    citation: read('CITATION.cff'),
    tags: git('tag', '--points-at', 'HEAD').split('\n'),
    status: git('status', '--porcelain'),
  });
  for (const problem of problems) console.error(`before-publish: ${problem}`);
  if (problems.length > 0) process.exit(1);
}
