// The built page in a real browser. `node run.mjs URL [NAME...]`: a served site, and which cases to run (all by default).
// TENSORSCOPE_CHROMIUM: the browser. TENSORSCOPE_SHOTS: a folder for pictures of every page, none by default.
import { open } from "./browser.mjs";
import * as cases from "./cases.mjs";
import { ready } from "./page.mjs";
import { shoot } from "./shots.mjs";

const [url, ...names] = process.argv.slice(2);
if (!url) {
  console.error("usage: node run.mjs URL [NAME...]");
  process.exit(2);
}

let passed = 0;
const failed = [];
for (const { kind, settings, tests } of cases.all(url)) {
  const chosen = tests.filter((test) => names.length === 0 || names.some((name) => test.name.includes(name)));
  if (chosen.length === 0) continue;
  console.log(`\nin a browser: ${kind}`);
  const browser = await open(settings.url ?? url, settings.browser, settings);
  const outcome = async (name, work) => {
    const begin = Date.now();
    try {
      const said = await work();
      passed += 1;
      console.log(`  ok    ${name} (${((Date.now() - begin) / 1000).toFixed(1)} s)${said ? `: ${said}` : ""}`);
    } catch (error) {
      failed.push(name);
      console.log(`  FAIL  ${name}\n    ${String(error.stack ?? error).replaceAll("\n", "\n    ")}`);
    }
  };
  await outcome(`${kind}: the page opens`, async () => {
    await browser.page.goto(settings.url ?? url);
    await ready(browser.page);
  });
  for (const test of chosen) await outcome(`${kind}: ${test.name}`, () => test.work(browser));
  await outcome(`${kind}: nothing in the console, nothing asked of other sites`, () => browser.close());
}
if (process.env.TENSORSCOPE_SHOTS && names.length === 0) await shoot(url, process.env.TENSORSCOPE_SHOTS);

// The form that the test suites' summary looks for.
console.log(`\n${passed} passed, ${failed.length} failed`);
for (const name of failed) console.log(`  failed: ${name}`);
process.exit(failed.length > 0 ? 1 : 0);
