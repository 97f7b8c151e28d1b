// Measures the page, in milliseconds: when its title is visible on a slow phone, when its first figure is, and the longest
// task of its main thread during a visit, in processor time. Needs build/web: npm run bench:page [visits]

import { launch, serve } from '../web/site.mjs';
import { controlsOf, firstFigure, headingOnSlowPhone, longestTask, referenceTask, visit } from '../web/tasks.mjs';
import { machine, machineLine } from './machine.mjs';
import { columns } from './report.mjs';

// What the page promises.
const promised = { heading: 1500, figure: 1000, task: 50 };
const visits = Number(process.argv[2] ?? 5);

const [site, packed, browser] = await Promise.all([serve(), serve({ isCompressed: true }), launch()]);

const rows = new Map();
const note = (name, limit, ms) => {
  if (!rows.has(name)) rows.set(name, { limit, times: [] });
  rows.get(name).times.push(ms);
};

note('reference task', undefined, await referenceTask(browser));
for (let i = 0; i < visits; ++i) {
  note('title, slow 4G and 4 x processor', promised.heading, await headingOnSlowPhone(browser, packed.address));
  note('first figure', promised.figure, (await firstFigure(browser, site.address)).at);
  const { page, steps, close } = await visit(browser, site);
  for (const [name, work] of steps) note(name, promised.task, (await longestTask(page, work)).took);
  await close();
}
const { page, works, close } = await controlsOf(browser, site);
// Of all figures the one whose controls take longest, by its median.
const medianOf = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
const controls = [];
for (const [id, work] of works) {
  const times = [];
  for (let i = 0; i < visits; ++i) times.push((await longestTask(page, work)).took);
  controls.push([`controls of ${id}`, { limit: promised.task, times }]);
}
const slower = (a, b) => (medianOf(b[1].times) > medianOf(a[1].times) ? b : a);
rows.set(...controls.reduce(slower));
await close();
const version = browser.version();
await browser.close();
await site.close();
await packed.close();

const table = [['ms', 'least', 'median', 'most', 'promised']];
for (const [name, { limit, times }] of rows) {
  const numbers = [Math.min(...times), medianOf(times), Math.max(...times), limit];
  table.push([name, ...numbers.map((ms) => ms?.toFixed(1) ?? '')]);
}
console.log(machineLine({ ...machine(), runtime: `Chromium ${version}` }));
console.log(columns(table));
