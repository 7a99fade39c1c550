/**
 * Runs the Worker script under Node.js 18 or later, to try it out and to test it. It has no TLS, and logs nothing:
 *
 *     node clients/relay-worker/serve.mjs --port 8100 --gateway study=https://collect.example
 */
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import worker from "./worker.mjs";

const { values: options } = parseArgs({
  options: {
    host: { type: "string", default: "127.0.0.1" },
    port: { type: "string", default: "8100" },
    gateway: { type: "string", multiple: true, default: [] },
    "gateway-seconds": { type: "string" },
  },
});
const settings = {
  UNTRACKABLE_GATEWAY: options.gateway.join(" "),
  UNTRACKABLE_GATEWAY_SECONDS: options["gateway-seconds"],
};
const trial = await worker.fetch(new Request("http://localhost/healthz"), settings);
if (!trial.ok) {
  console.error((await trial.json()).detail);
  process.exit(2);
}

const server = createServer({ maxHeaderSize: 8 << 10, requestTimeout: 30_000 }, async (incoming, outgoing) => {
  const reply = await answer(incoming).catch(() => new Response(null, { status: 400 }));
  outgoing.statusCode = reply.status;
  reply.headers.forEach((value, name) => outgoing.setHeader(name, value));
  outgoing.end(Buffer.from(await reply.arrayBuffer()));
});
server.listen(Number(options.port), options.host, () => {
  console.log(`Relaying at http://${options.host}:${server.address().port}`);
});

/** The answer to a request, whose body is read only as far as the Worker script asks for it. */
async function answer(incoming) {
  const { method, url, rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at], rawHeaders[at + 1]);
  const body = method == "GET" || method == "HEAD" ? undefined : streamOf(incoming);
  return worker.fetch(new Request(new URL(url, "http://localhost"), { method, headers, body, duplex: "half" }), settings);
}

function streamOf(incoming) {
  const parts = incoming.iterator({ destroyOnReturn: false });
  const source = {
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await parts.return();
      incoming.resume(); // The rest is thrown away, and the connection stays open for the answer.
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
