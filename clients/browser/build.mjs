/** Builds the files that ship: the client, and the chunk that it loads to join a campaign. Names contain digests. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const shipped = process.argv[2] ?? join(here, "../../src/untrackable/collector/browser_client");
const options = {
  absWorkingDir: here, bundle: true, minify: true, format: "esm", target: "es2022", write: false, charset: "utf8",
  legalComments: "none",
};

const digest = (kind, text) => createHash(kind).update(text);
const name = (what, text) => `${what}-${digest("sha256", text).digest("hex").slice(0, 16)}.js`;
const text = async (entry, more) => (await build({ ...options, entryPoints: [entry], ...more })).outputFiles[0].text;

const joining = await text("src/joining.ts");
const chunk = name("joining", joining);
const client = await text("src/client.ts", {
  define: { CHUNK: JSON.stringify(`./${chunk}`), INTEGRITY: JSON.stringify("sha384-" + digest("sha384", joining).digest("base64")) },
  plugins: [{
    name: "chunk",
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\.\/joining\.js$/ }, ({ kind }) => kind == "dynamic-import" ? { path: `./${chunk}`, external: true } : null),
  }],
});

function fill(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) if (old.endsWith(".js")) rmSync(join(folder, old));
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
}

fill(shipped, { [name("untrackable", client)]: client, [chunk]: joining });
if (!process.argv[2]) {
  fill(join(here, "dist"), { "untrackable.js": client, [chunk]: joining });
  execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", here], { stdio: "inherit" });
}
