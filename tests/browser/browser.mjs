// A browser as a learner has it, with what it must not do written down: errors in the console, requests elsewhere.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A plain import does not look where NODE_PATH points.
const { chromium } = createRequire(import.meta.url)("playwright-core");

const QUIET = [
  "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync",
];
// The name stands for another machine: a page from there over plain http gets no WebGPU.
export const ELSEWHERE = "elsewhere.test";

export const KINDS = {
  webgpu: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
  none: ["--disable-gpu"],
  elsewhere: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`],
};

// What runs in the worker before the engine does, for a test: the same loader with more in front.
const NO_API = `for (const place of ["Navigator", "WorkerNavigator"]) if (place in self) delete self[place].prototype.gpu;`;
const BEFORE_ENGINE = {
  // Keeps the devices that the engine opens, so that a test can lose them, and counts the kernels that it builds; also those
  // that it had built when a curve got its first point.
  devices: `
    self.devices = [];
    self.built = 0;
    self.builtAtFirstPoint = null;
    const build = GPUDevice.prototype.createComputePipeline;
    GPUDevice.prototype.createComputePipeline = function (...given) {
      self.built += 1;
      return build.apply(this, given);
    };
    const say = self.postMessage;
    self.postMessage = (message, ...rest) => {
      if (typeof message === "string" && message.includes('"event":"points"')) self.builtAtFirstPoint ??= self.built;
      return say.call(self, message, ...rest);
    };
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...given) {
      const device = await request.apply(this, given);
      self.devices.push(device);
      return device;
    };`,
  // A browser without WebGPU, and one that shows it to pages alone.
  "no api": NO_API,
  "no api in workers": NO_API,
  // A browser that has WebGPU and no adapter.
  "no adapter": `GPU.prototype.requestAdapter = async () => null;`,
  // An adapter that can do no more than WebGPU promises, or less.
  "small limits": `
    const limits = {
      maxComputeInvocationsPerWorkgroup: 128, maxComputeWorkgroupSizeX: 128, maxComputeWorkgroupSizeY: 128,
      maxStorageBufferBindingSize: 134217728, maxBufferSize: 268435456, maxStorageBuffersPerShaderStage: 8,
      maxComputeWorkgroupStorageSize: 16384,
    };
    for (const [name, value] of Object.entries(limits)) {
      Object.defineProperty(GPUSupportedLimits.prototype, name, { get: () => value });
    }`,
};

/** Opens the site in a browser of a kind; gives its page, and `close`, which fails if it did what it must not. */
export async function open(url, kind, { before, viewport, dark, reducedMotion, expected: known = [] } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "tensorscope-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.TENSORSCOPE_CHROMIUM ?? "/usr/bin/chromium",
    args: [...QUIET, ...KINDS[kind]],
    headless: true,
    viewport: viewport ?? { width: 1280, height: 900 },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    acceptDownloads: true,
  });
  const { origin } = new URL(url);
  const wrong = [];
  const expected = [...known];
  const page = context.pages()[0] ?? await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`uncaught: ${error.message}`));
  context.on("request", (request) => {
    const address = new URL(request.url());
    if (!["data:", "blob:"].includes(address.protocol) && address.origin !== origin) wrong.push(`request to ${address.origin}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`);
  });
  if (before === "no api") await context.addInitScript(NO_API);
  if (before) {
    await context.route("**/engine-loader.js", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${BEFORE_ENGINE[before]}\n${await response.text()}` });
    });
  }
  return {
    page,
    /** A test that breaks something says what the console will show of it. */
    expect: (pattern) => expected.push(pattern),
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
      const unexpected = wrong.filter((text) => !expected.some((pattern) => pattern.test(text)));
      if (unexpected.length > 0) throw new Error(`the browser complained:\n    ${unexpected.join("\n    ")}`);
    },
  };
}
