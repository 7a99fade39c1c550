/** Makes one file of `vectors.ts`, for Node.js. */
import { build } from "esbuild";

await build({
  entryPoints: ["test/vectors.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  // Chunks are part of this one file.
  define: Object.fromEntries(
    ["CONSENT", "CROWD", "PREVIEW", "VIEWS"].flatMap(name => [name, name + "_DIGEST"].map(each => [each, '""'])),
  ),
  outfile: process.argv[2],
});
