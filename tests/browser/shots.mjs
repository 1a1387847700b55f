// Pictures of every page, for people to look at: two widths, two themes.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { open } from "./browser.mjs";
import { fill, go, press, ready, run, state } from "./page.mjs";

const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };

export async function shoot(url, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const dark of [false, true]) {
      const browser = await open(url, "webgpu", { viewport, dark, reducedMotion: true });
      const { page } = browser;
      const shot = (name) => page.screenshot({
        path: join(folder, `${name}-${size}-${dark ? "dark" : "light"}.png`), fullPage: true,
      });
      await page.goto(url);
      await ready(page);
      await shot("home");
      await go(page, "#/lesson/doctor");
      await run(page);
      await shot("doctor");
      await go(page, "#/lesson/transfer");
      await shot("transfer-before");
      await run(page, { sizes: "16 64 128", device: "wgpu:0" });
      await shot("transfer");
      await go(page, "#/lesson/train");
      await fill(page, { batch: "0" });
      await shot("train-refused-value");
      await fill(page, { batch: "64", device: "wgpu:0", epochs: 20 });
      await press(page, "run");
      await page.locator('[data-figure="accuracy"] .point').first().waitFor();
      await shot("train-running");
      await press(page, "cancel");
      await state(page, "cancelled");
      await shot("train-cancelled");
      await run(page, { device: "cpu", epochs: 3 });
      await page.locator('[data-figure="loss"] .canvas svg').hover({ position: { x: 150, y: 80 } });
      await shot("train");
      await press(page, "run");
      await state(page, "running");
      await page.workers()[0].evaluate(() => { setTimeout(() => { throw new Error("ended for a picture"); }); });
      await page.locator("#crash").waitFor();
      await shot("crashed");
      await page.getByRole("button", { name: "Start the engine anew" }).click();
      await page.locator("#crash").waitFor({ state: "detached" });
      await go(page, "#/bench");
      await run(page, { scale: "small" });
      await shot("bench");
      browser.expect(/ended for a picture/);
      await browser.close();
    }
  }
  const without = await open(url, "none", { before: "no api" });
  await without.page.goto(url);
  await ready(without.page);
  await without.page.screenshot({ path: join(folder, "home-no-webgpu.png"), fullPage: true });
  await without.close();
  const projector = await open(url, "webgpu", { viewport: { width: 1920, height: 1080 } });
  await projector.page.goto(url);
  await ready(projector.page);
  await go(projector.page, "#/lesson/transfer");
  await run(projector.page, { sizes: "16 64 128", device: "wgpu:0" });
  await projector.page.screenshot({ path: join(folder, "transfer-projector.png") , fullPage: true });
  await projector.close();
  console.log(`pictures are in ${folder}`);
}
