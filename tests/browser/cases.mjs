// What must hold of the page, with WebGPU and without.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { ELSEWHERE } from "./browser.mjs";
import { fill, go, metrics, press, ready, report, run, state, until } from "./page.mjs";

const test = (name, work) => ({ name, work: ({ page, expect }) => work(page, expect) });

/** The browsers to try, each with its cases in order: a browser is kept for all of its cases. */
export function all(url) {
  const elsewhere = url.replace("127.0.0.1", ELSEWHERE).replace("localhost", ELSEWHERE);
  return [
    { kind: "WebGPU", settings: { browser: "webgpu", before: "devices" }, tests: [...start(url), ...reading(), ...lessons("wgpu:0"), ...manners(), ...accidents(), ...losses()] },
    { kind: "no WebGPU", settings: { browser: "none", before: "no api" }, tests: [diagnosis(/has no WebGPU/, /current Chrome/), ...lessons("cpu"), doctorSays(/has no WebGPU/)] },
    { kind: "no WebGPU in workers", settings: { browser: "webgpu", before: "no api in workers" }, tests: [diagnosis(/does not show it to workers/, /current Chrome/)] },
    { kind: "no adapter", settings: { browser: "webgpu", before: "no adapter" }, tests: [diagnosis(/no adapter/, /hardware acceleration/)] },
    { kind: "plain http", settings: { browser: "elsewhere", url: elsewhere, expected: [/Cross-Origin-Opener-Policy/] }, tests: [diagnosis(/plain http/, /localhost or over https/)] },
    { kind: "small limits", settings: { browser: "webgpu", before: "small limits" }, tests: [training("wgpu:0")] },
    { kind: "phone", settings: { browser: "webgpu", viewport: { width: 360, height: 740 }, dark: true }, tests: [narrow()] },
  ];
}

function start(url) {
  return [
    test("it is ready within 3 s, and the first lesson is one click away", async (page) => {
      const begin = Date.now();
      await page.goto(url);
      await page.locator(".begin").waitFor({ timeout: 60_000 });
      const took = (Date.now() - begin) / 1000;
      await page.locator(".begin").click();
      await page.locator("#run").waitFor();
      assert.ok(took < 3, `${took} s`);
      return `${took.toFixed(2)} s`;
    }),
    test("its programs take under 2 MB, compressed", async (page) => {
      const names = await page.evaluate(() => performance.getEntriesByType("resource").map((e) => e.name));
      const programs = [...new Set([...names.filter((name) => name.endsWith(".wasm")), new URL("engine_bg.wasm", url).href])];
      assert.equal(programs.length, 2, programs.join(", "));
      const sizes = await Promise.all(programs.map(async (name) => {
        const answer = await fetch(name);
        assert.equal(answer.headers.get("content-type"), "application/wasm");
        return gzipSync(Buffer.from(await answer.arrayBuffer()), { level: 9 }).length;
      }));
      const total = sizes.reduce((a, b) => a + b);
      assert.ok(total < 2e6, `${total} bytes`);
      return `${sizes.map((n) => `${Math.round(n / 1000)} KB`).join(" + ")} with gzip`;
    }),
    test("a software adapter is named as such", async (page) => {
      await go(page, "#/");
      await ready(page);
      assert.match(await page.locator(".devices").innerText(), /wgpu:0.*software/is);
    }),
  ];
}

const diagnosis = (cause, remedy) => test("the page says why there is no WebGPU and what to do", async (page) => {
  const text = await page.locator("#no-webgpu").innerText();
  assert.match(text, cause);
  assert.match(text, remedy);
  assert.match(text, /CPU/);
});

const doctorSays = (cause) => test("the doctor says why", async (page) => {
  await go(page, "#/lesson/doctor");
  await run(page);
  assert.match(await page.locator('[data-table="checks"]').innerText(), cause);
});

const training = (device) => test(`100 steps of mnist-mlp on ${device}: the loss falls`, async (page) => {
  await go(page, "#/lesson/train");
  const found = await run(page, { model: "mnist-mlp", device, steps: 100 });
  assert.ok(Math.abs(found.first_loss - Math.log(10)) < 0.5, `first loss ${found.first_loss}`);
  assert.ok(found.final_loss < 1, `final loss ${found.final_loss}`);
  assert.equal(await page.locator('[data-figure="loss"] .curve').count() > 0, true);
  return `${found.first_loss.toFixed(3)} to ${found.final_loss.toFixed(3)}, ${Math.round(found.images_per_second)} images/s`;
});

function lessons(device) {
  return [
    test("doctor names the devices", async (page) => {
      await go(page, "#/lesson/doctor");
      await run(page);
      assert.match(await page.locator('[data-table="devices"]').innerText(), new RegExp(device));
    }),
    test("transfer measures small products", async (page) => {
      await go(page, "#/lesson/transfer");
      await run(page, { sizes: "16 64", device });
      assert.equal(await page.locator('[data-table="times"] tbody tr').count(), 2);
      assert.equal(await page.locator('[data-figure="split"] .bar').count(), 2);
      const { tables } = await report(page);
      for (const row of tables.find((t) => t.id === "times").rows) assert.ok(row[1].value > 0 && row[2].value > 0, JSON.stringify(row));
    }),
    training(device),
    test("the report is handed out as it was measured", async (page) => {
      const given = await report(page);
      assert.equal(given.schema, 1);
      assert.equal(given.lesson, "train");
      assert.equal(given.environment.device, device);
      assert.equal(given.status.state, "done");
      const shown = await metrics(page);
      assert.equal(given.metrics.final_loss.value, shown.final_loss);
      const losses = given.series.find((s) => s.id === "loss").points;
      assert.ok(losses.length > 10, `${losses.length} points`);
    }),
  ];
}

function manners() {
  return [
    test("a value out of range is refused by its range, and the others stay", async (page) => {
      await go(page, "#/lesson/train");
      await fill(page, { batch: "0", epochs: "2" });
      await page.locator("#run").click();
      const told = await page.locator("#field-batch-error").innerText();
      assert.match(told, /out of range \(1 to/);
      assert.doesNotMatch(told, /`/, "code is set as code");
      assert.equal(await page.evaluate(() => document.activeElement.id), "field-batch");
      assert.equal(await page.locator("#field-batch").getAttribute("aria-invalid"), "true");
      assert.equal(await page.locator("#field-epochs").inputValue(), "2");
      await page.getByRole("button", { name: "Back to defaults" }).click();
      assert.equal(await page.locator("#field-batch-error").innerText(), "");
    }),
    test("the keyboard alone runs a lesson and reads a figure", async (page) => {
      await go(page, "#/lesson/transfer");
      await fill(page, { sizes: "16 32", device: "cpu" });
      await page.locator("#field-sizes").press("Enter");
      await state(page, "done");
      await page.locator('[data-figure="time"] .canvas svg').focus();
      await page.keyboard.press("End");
      assert.match(await page.locator('[data-figure="time"] .readout').innerText(), /^n 32: /);
      await page.keyboard.press("ArrowLeft");
      assert.match(await page.locator('[data-figure="time"] .readout').innerText(), /^n 16: /);
    }),
    test("a run is cancelled, keeps what came, and the next one runs", async (page) => {
      await go(page, "#/lesson/train");
      await fill(page, { model: "mnist-mlp", device: "cpu", epochs: 50 });
      await press(page, "run");
      await page.locator('[data-figure="loss"]').waitFor({ timeout: 60_000 });
      const begin = Date.now();
      await press(page, "cancel");
      await state(page, "cancelled");
      const took = (Date.now() - begin) / 1000;
      assert.ok(took < 3, `${took} s`);
      const given = await report(page);
      assert.deepEqual([given.partial, given.status.state], [true, "cancelled"]);
      assert.ok(given.series.find((s) => s.id === "loss").points.length > 0);
      await go(page, "#/lesson/doctor");
      await run(page);
      return `${took.toFixed(2)} s`;
    }),
    test("what was measured is still there after a look elsewhere", async (page) => {
      await go(page, "#/lesson/train");
      assert.equal(await page.locator("#state").getAttribute("data-state"), "cancelled");
      assert.equal(await page.locator('[data-figure="loss"]').count(), 1);
    }),
    test("light and dark change, and an unknown address says so", async (page) => {
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const before = await paper();
      await page.locator(".theme").click();
      assert.notEqual(await paper(), before);
      await page.locator(".theme").click();
      assert.equal(await paper(), before);
      await page.evaluate(() => { location.hash = "#/nowhere"; });
      await page.getByText("There is no such page").waitFor();
    }),
  ];
}

/** A training run that lasts until something happens to it. */
async function trainForLong(page, device) {
  await go(page, "#/lesson/train");
  await fill(page, { model: "mnist-mlp", device, epochs: 50 });
  await press(page, "run");
  await page.locator('[data-figure="loss"]').waitFor({ timeout: 120_000 });
}

function accidents() {
  return [
    test("a crash of the worker is shown, keeps what came, and a new engine runs", async (page, expect) => {
      expect(/killed for a test/);
      await trainForLong(page, "cpu");
      await page.workers()[0].evaluate(() => { setTimeout(() => { throw new Error("killed for a test"); }); });
      await page.locator("#crash").waitFor();
      assert.match(await page.locator("#crash").innerText(), /killed for a test/);
      assert.equal(await page.locator("#state").getAttribute("data-state"), "failed");
      const given = await report(page);
      assert.ok(given.partial && given.series.find((s) => s.id === "loss").points.length > 0);
      await page.getByRole("button", { name: "Start the engine anew" }).click();
      await page.locator("#crash").waitFor({ state: "detached" });
      await until("the engine is ready", async () => page.locator("#run").isEnabled(), 60_000);
      await go(page, "#/lesson/doctor");
      await run(page);
    }),
    test("a worker that is gone without a word is replaced on cancel", async (page) => {
      await trainForLong(page, "cpu");
      await page.workers()[0].evaluate(() => self.close());
      await press(page, "cancel");
      await state(page, "cancelled");
      assert.match(await page.locator(".notes").innerText(), /did not answer within a second/);
      const given = await report(page);
      assert.ok(given.series.find((s) => s.id === "loss").points.length > 0);
      await until("the engine is ready", async () => page.locator("#run").isEnabled(), 60_000);
      await go(page, "#/lesson/doctor");
      await run(page);
    }),
  ];
}

function reading() {
  return [
    test("what a run needs is built while the learner reads", async (page) => {
      for (const lesson of ["train", "transfer"]) {
        await go(page, `#/lesson/${lesson}`);
        await fill(page, { device: "wgpu:0" });
        const counts = () => page.workers()[0].evaluate(() => [self.built, self.builtAtFirstPoint]);
        let before = await counts();
        await until("kernels are built and no more come", async () => {
          await page.waitForTimeout(1500);
          const now = await counts();
          const still = now[0] === before[0] && now[0] > 0;
          before = now;
          return still;
        }, 60_000);
        await page.workers()[0].evaluate(() => { self.builtAtFirstPoint = null; });
        await run(page, lesson === "train" ? { steps: 3, epochs: 1 } : { sizes: "64 128" });
        const [, atFirst] = await counts();
        // The first losses are stacked by a kernel of their own.
        assert.ok(atFirst !== null && atFirst - before[0] <= 1, `${lesson}: ${before[0]} before, ${atFirst} at the first point`);
      }
    }),
  ];
}

function losses() {
  return [
    test("a lost device ends the run with its reason, and the next run opens it anew", async (page) => {
      await trainForLong(page, "wgpu:0");
      await page.workers()[0].evaluate(() => { for (const device of self.devices) device.destroy(); });
      await state(page, "failed");
      assert.match(await page.locator("#state").innerText(), /lost/);
      await run(page, { steps: 20, epochs: 1 });
    }),
    test("a device that is lost while nobody uses it is opened anew", async (page) => {
      await go(page, "#/lesson/train");
      await run(page, { device: "wgpu:0", steps: 5, epochs: 1 });
      await page.workers()[0].evaluate(() => { for (const device of self.devices) device.destroy(); });
      await run(page, { steps: 5, epochs: 1 });
    }),
  ];
}

const narrow = () => test("nothing is wider than a phone", async (page) => {
  for (const hash of ["#/", "#/lesson/doctor", "#/lesson/transfer", "#/lesson/train", "#/bench"]) {
    await go(page, hash);
    if (hash === "#/lesson/transfer") await run(page, { sizes: "16 64", device: "wgpu:0" });
    if (hash === "#/lesson/doctor") await run(page);
    const width = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(width <= 360, `${hash}: ${width} px`);
  }
});
