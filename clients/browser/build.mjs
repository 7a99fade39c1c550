/**
 * Builds the client, and the chunk that it loads to join a campaign: the files that the collector serves, whose
 * names contain digests; or with `--package` those of the npm package, with types.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const options = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  write: false,
  charset: "utf8",
  legalComments: "none",
};

const digest = (kind, text) => createHash(kind).update(text);
const name = (what, text) => `${what}-${digest("sha256", text).digest("hex").slice(0, 16)}.js`;
const text = async (entry, more) =>
  (await build({ ...options, entryPoints: [entry], ...more })).outputFiles[0].text;

/** The client, which loads the chunk for joining by this name, and compares it with this digest if there is one. */
const client = (chunk, integrity) =>
  text("src/client.ts", {
    define: { CHUNK: JSON.stringify(`./${chunk}`), INTEGRITY: JSON.stringify(integrity) },
    plugins: [
      {
        name: "chunk",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\.\/joining\.js$/ }, ({ kind }) =>
            kind == "dynamic-import" ? { path: `./${chunk}`, external: true } : null,
          ),
      },
    ],
  });

function fill(folder, files) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
}

const joining = await text("src/joining.ts");
if (process.argv[2] == "--package") {
  // Applications bundle this one themselves, so it does not insist on how the chunk is written.
  fill(join(here, "dist"), { "untrackable.js": await client("joining.js", ""), "joining.js": joining });
  execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", here], {
    stdio: "inherit",
  });
} else {
  const chunk = name("joining", joining);
  const shipped = await client(chunk, "sha384-" + digest("sha384", joining).digest("base64"));
  const folder = process.argv[2] ?? join(here, "../../src/untrackable/collector/browser_client");
  fill(folder, { [name("untrackable", shipped)]: shipped, [chunk]: joining });
}
