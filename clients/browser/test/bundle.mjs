/** Makes one file of `vectors.ts`, or of another program for tests, for Node.js. */
import { build } from "esbuild";

await build({
  entryPoints: [process.argv[3] ?? "test/vectors.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  // Chunks are part of this one file.
  define: Object.fromEntries(
    ["CONSENT", "CROWD", "PREVIEW", "VIEWS"].flatMap(name => [name, name + "_DIGEST"].map(each => [each, '""'])),
  ),
  outfile: process.argv[2],
});
