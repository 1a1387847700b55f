// What a learner does on the page, in a learner's words.
import assert from "node:assert/strict";

/** Milliseconds that a lesson may take on a busy machine without a GPU. */
const PATIENCE = Number(process.env.TENSORSCOPE_TEST_PATIENCE_MS ?? 240_000);

/** Waits until the engine has said what this machine is. */
export async function ready(page) {
  await page.locator(".devices li").first().waitFor({ timeout: 60_000 });
}

/** Goes to a page of the site, and waits until it is there. */
export async function go(page, hash) {
  await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.locator(hash.startsWith("#/lesson") || hash === "#/bench" ? "#run" : "main h1").waitFor({ timeout: 60_000 });
}

/** Fills a lesson's form. */
export async function fill(page, values) {
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator(`#field-${name}`);
    const kind = await field.evaluate((e) => (e.tagName === "SELECT" ? "select" : e.type));
    if (kind === "select") await field.selectOption(value);
    else if (kind === "checkbox") await field.setChecked(value);
    else await field.fill(String(value));
  }
}

export const press = (page, id) => page.locator(`#${id}`).click();

/** Waits for a run to stand in one of the given states, and gives that state. */
export async function state(page, ...wanted) {
  const either = wanted.map((name) => `#state[data-state="${name}"]`).join(", ");
  await page.locator(either).waitFor({ timeout: PATIENCE });
  return page.locator("#state").getAttribute("data-state");
}

/** Runs a lesson to its end; anything but its being done is a failure. */
export async function run(page, values = {}) {
  await fill(page, values);
  await press(page, "run");
  await state(page, "running", "done", "failed", "refused");
  const end = await state(page, "done", "failed", "cancelled", "refused");
  assert.equal(end, "done", await page.locator("#state").innerText());
  return metrics(page);
}

/** The headline figures on the page, by name. */
export async function metrics(page) {
  const entries = await page.locator(".metrics > div").evaluateAll((all) =>
    all.map((e) => [e.dataset.metric, Number(e.dataset.value)]));
  return Object.fromEntries(entries);
}

/** The report as the page hands it out. */
export async function report(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, "download")]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Waits until something holds. */
export async function until(what, holds, limit = 10_000) {
  const end = Date.now() + limit;
  while (Date.now() < end) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${what}: not within ${limit / 1000} s`);
}
