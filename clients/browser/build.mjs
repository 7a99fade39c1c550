/**
 * Builds the client, and the chunks that it loads for ballots, for a crowd, and for views of values: the files that
 * the collector serves, whose names contain digests; with `--package` those of the npm package, with types; or with
 * `--node` those of the npm package for Node.js.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** What the client loads only where it is needed. */
const CHUNKS = ["ballots", "consent", "crowd", "preview", "views"];

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

/** The client, which loads chunks by these names, and compares each with its digest if there is one. */
const client = chunks =>
  text("src/untrackable.ts", {
    define: Object.fromEntries(
      Object.entries(chunks).flatMap(([what, [file, integrity]]) => [
        [what.toUpperCase(), JSON.stringify(`./${file}`)],
        [`${what.toUpperCase()}_DIGEST`, JSON.stringify(integrity)],
      ]),
    ),
    plugins: [
      {
        name: "chunks",
        setup: ({ onResolve }) =>
          onResolve({ filter: new RegExp(`^\\./(${CHUNKS.join("|")})\\.js$`) }, ({ kind, path }) =>
            kind == "dynamic-import" ? { path: `./${chunks[path.slice(2, -3)][0]}`, external: true } : null,
          ),
      },
    ],
  });

function fill(folder, files) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
}

const parts = Object.fromEntries(
  await Promise.all(CHUNKS.map(async what => [what, await text(`src/${what}.ts`)])),
);
const chunks = made => Object.fromEntries(Object.entries(parts).map(([what, part]) => [what, made(what, part)]));
/** Write the types of the package in a folder. */
const types = folder =>
  execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", folder], { stdio: "inherit" });

/** The client for Node.js in one file, with files of its own in place of those about the browser. */
const forNode = async (folder, entry) =>
  text(join(folder, `src/${entry}.ts`), {
    platform: "node",
    target: "node18",
    inject: [join(folder, "src/crypto.ts")],
    minify: false,
    define: Object.fromEntries(
      CHUNKS.flatMap(what => [what, what + "_digest"]).map(name => [name.toUpperCase(), '""']),
    ),
    plugins: [
      {
        name: "node",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\.\/(environment|storage)\.js$/ }, ({ path }) => ({
            path: join(folder, "src", path.replace(".js", ".ts")),
          })),
      },
    ],
  });

if (process.argv[2] == "--node") {
  const folder = join(here, "../node");
  fill(join(folder, "dist"), {
    "untrackable.js": await forNode(folder, "untrackable"),
    "send.js": await forNode(folder, "send"),
  });
  types(folder);
} else if (process.argv[2] == "--package") {
  // Applications bundle this one themselves, so it does not insist on how the chunks are written.
  const shipped = await client(chunks(what => [`${what}.js`, ""]));
  fill(join(here, "dist"), {
    "untrackable.js": shipped,
    ...Object.fromEntries(Object.entries(parts).map(([what, part]) => [`${what}.js`, part])),
  });
  types(here);
} else {
  const shipped = await client(
    chunks((what, part) => [name(what, part), "sha256-" + digest("sha256", part).digest("base64")]),
  );
  const folder = process.argv[2] ?? join(here, "../../src/untrackable/collector/browser_client");
  fill(folder, {
    [name("untrackable", shipped)]: shipped,
    ...Object.fromEntries(Object.entries(parts).map(([what, part]) => [name(what, part), part])),
  });
}
