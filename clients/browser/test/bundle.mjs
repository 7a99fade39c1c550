/** Makes one file of `vectors.ts`, for Node.js. */
import { build } from "esbuild";

await build({
  entryPoints: ["test/vectors.ts"],
  bundle: true,
  format: "esm",
  platform: "node",
  // Chunks are part of this one file.
  define: { CROWD: '""', CROWD_DIGEST: '""', VIEWS: '""', VIEWS_DIGEST: '""' },
  outfile: process.argv[2],
});
