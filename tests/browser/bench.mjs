// The fixed workloads in a browser: `node bench.mjs URL DEVICE [SCALE [WORKLOADS]]` prints the lines that
// `tensorscope bench --peer-lines` prints.
import { open } from "./browser.mjs";
import { go, ready, report, run } from "./page.mjs";

const [url, device, scale = "full", workloads = "W1,W2,W2b,W2c,W3a,W3b,W4"] = process.argv.slice(2);
if (!url || !device) {
  console.error("usage: node bench.mjs URL DEVICE [SCALE [WORKLOADS]]");
  process.exit(2);
}
const browser = await open(url, device === "cpu" ? "none" : "webgpu");
try {
  const { page } = browser;
  await page.goto(url);
  await ready(page);
  await go(page, "#/bench");
  const wanted = workloads.split(",");
  for (const label of await page.locator("[aria-labelledby=field-workloads-label] label").all()) {
    await label.locator("input").setChecked(wanted.includes((await label.innerText()).trim()));
  }
  await run(page, { device, scale });
  const { environment, tables } = await report(page);
  console.log(JSON.stringify({ version: `tensorscope ${environment.version} in a browser on ${device}` }));
  const cases = tables.find((table) => table.id === "cases");
  const shares = tables.find((table) => table.id === "shares")?.rows ?? [];
  const at = Object.fromEntries(cases.columns.map((column, i) => [column.id, i]));
  for (const row of cases.rows) {
    const cell = (name) => row[at[name]];
    const value = (name) => cell(name)?.value ?? (typeof cell(name) === "string" ? cell(name) : null);
    // Workload, case, percent of the peak that the same run found.
    const share = shares.find(([workload, name]) => workload === value("workload") && name === value("case"))?.[2]?.value;
    const scaled = (name, factor) => (value(name) === null ? null : value(name) * factor);
    console.log(JSON.stringify({
      workload: value("workload"), case: value("case"), median_ms: scaled("median", 1e3), p10_ms: scaled("p10", 1e3),
      p90_ms: scaled("p90", 1e3), runs: value("runs"), gflops: scaled("flops", 1e-9), gbps: scaled("bandwidth", 1e-9),
      floor_ms: share === undefined ? null : value("median") * 1e3 * share / 100,
    }));
  }
} finally {
  await browser.close();
}
