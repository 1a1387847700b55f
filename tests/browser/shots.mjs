// Pictures of every page, for people to look at: two widths, two themes.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { open } from "./browser.mjs";
import { go, ready, run } from "./page.mjs";

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
      await run(page, { epochs: 1 });
      await shot("train");
      await browser.close();
    }
  }
  console.log(`pictures are in ${folder}`);
}
