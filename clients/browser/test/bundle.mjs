/** Makes one file of `vectors.ts`, for Node.js. */
import { build } from "esbuild";

await build({
  entryPoints: ["test/vectors.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  outfile: process.argv[2],
});
