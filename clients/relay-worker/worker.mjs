/**
 * A relay for sealed reports (Oblivious HTTP, RFC 9458), as a Worker script: for edge hosts, Node.js, and whatever else
 * has the standard fetch API.
 *
 * It answers as `untrackable relay` does, but it passes every report on at once, and it looks at no address, so it sets
 * no limit for one sender. It stores no report and logs nothing. Of a request it passes on the body alone, and of an
 * answer the status, the media type and the body. A host may add headers of its own: see README.md.
 */

const [REQUEST, ANSWER] = ["message/ohttp-req", "message/ohttp-res"];
const [KEYS, PROBLEM] = ["application/ohttp-keys", "application/problem+json"];
const SEALED_LENGTH = 1079; // the bytes of every sealed report
const [LARGEST_ANSWER, LARGEST_KEYS] = [4 << 10, 16 << 10];
const [REQUEST_SECONDS, GATEWAY_SECONDS, MOST_GATEWAY_SECONDS] = [20, 30, 55]; // clients wait for a minute
const [FRESH_SECONDS, FAILED_SECONDS] = [300, 5]; // how long keys are handed on, and a failure to get them

/** All reasons to refuse a request, with their status and title. */
const PROBLEMS = {
  "malformed-request": [400, "The request does not follow the documentation"],
  "other-length": [400, "The body does not have the length of a sealed report"],
  "not-found": [404, "There is nothing at this address"],
  "method-not-allowed": [405, "This address does not allow the method"],
  "too-slow": [408, "The request did not arrive in time"],
  "media-type": [415, "The body has the wrong media type"],
  internal: [500, "The relay has a fault"],
  "gateway-unreachable": [502, "The gateway cannot be reached"],
  "gateway-answer": [502, "The gateway's answer cannot be passed on"],
  "gateway-too-slow": [504, "The gateway did not answer in time"],
};

const refused = (problem, detail, headers) => Object.assign(new Error(detail), { problem, headers });

export default {
  /** Answer a request. Web pages of every origin may send sealed reports, and nothing else (CORS). */
  async fetch(request, settings) {
    const { pathname } = new URL(request.url);
    if (!/^\/gateways\/[^/]+$/.test(pathname)) return answer(request, pathname, settings).catch(refusal);
    const { headers, method } = request;
    const cross = headers.has("origin");
    if (cross && method == "OPTIONS" && headers.has("access-control-request-method")) return preflight(headers);
    const reply = await answer(request, pathname, settings).catch(refusal);
    reply.headers.set("vary", "Origin");
    if (cross) reply.headers.set("access-control-allow-origin", "*");
    if (cross) reply.headers.set("access-control-expose-headers", "retry-after");
    return reply;
  },
};

/** Answer a browser that asks whether a page may send a request. */
function preflight(asked) {
  const names = (asked.get("access-control-request-headers") ?? "accept").split(",");
  const allowed =
    asked.get("access-control-request-method") == "POST" &&
    !asked.has("access-control-request-private-network") &&
    names.every(name => /^\s*(accept|accept-language|content-language|content-type)\s*$/i.test(name));
  const question = ["Method", "Headers", "Private-Network"].map(what => `Access-Control-Request-${what}`);
  const headers = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "Accept, Accept-Language, Content-Language, Content-Type",
    "access-control-max-age": "86400",
    vary: ["Origin", ...question].join(", "),
  };
  if (allowed) return response(200, "text/plain; charset=utf-8", "OK", headers);
  return refusal(refused("malformed-request", "pages may send sealed reports, and no other request", headers));
}

async function answer(request, path, settings) {
  const [, name, keys] = path.match(/^\/gateways\/([^/]+)(\/keys)?$/) ?? [];
  if (!name && path != "/healthz") throw refused("not-found", "there is nothing at this address");
  const allow = name && !keys ? "POST" : "GET, HEAD";
  if (!allow.split(", ").includes(request.method)) {
    throw refused("method-not-allowed", "this address does not allow this method", { allow });
  }
  const { gateways, seconds } = checked(settings);
  if (!name) return response(200, "application/json", '{"status":"ok"}');
  const gateway = gateways.get(name);
  if (!gateway) throw refused("not-found", "this relay forwards to no gateway of this name");
  if (keys) return response(200, KEYS, await publishedKeys(gateway, seconds));
  const { status, type, content } = await ask(gateway, seconds, LARGEST_ANSWER, await sealedBody(request));
  if ((status == 200 && type == ANSWER) || (400 <= status && status <= 599 && type == PROBLEM)) {
    return response(status, type, content);
  }
  throw refused("gateway-answer", "the gateway's answer is neither sealed nor a problem");
}

/** The address at which each gateway takes sealed reports, by its name, and how long a gateway may take to answer. */
function checked({ UNTRACKABLE_GATEWAY = "", UNTRACKABLE_GATEWAY_SECONDS = GATEWAY_SECONDS } = {}) {
  const gateways = new Map();
  for (const given of UNTRACKABLE_GATEWAY.trim().split(/\s+/)) {
    const [, name, address] = given.match(/^([a-z0-9][a-z0-9-]{0,62})=(https?:\/\/[^?#@\\]+)$/) ?? [];
    if (!name || gateways.has(name)) {
      throw refused("internal", "each gateway must have its own name and an address: study=https://collect.example");
    }
    const { protocol, hostname, href } = new URL(address);
    if (protocol == "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) {
      throw refused("internal", `gateway ${name} must be https; http is only for this machine`);
    }
    gateways.set(name, `${href.replace(/\/+$/, "")}/.well-known/ohttp-gateway`);
  }
  const seconds = Number(UNTRACKABLE_GATEWAY_SECONDS);
  if (seconds > 0 && seconds <= MOST_GATEWAY_SECONDS) return { gateways, seconds };
  throw refused("internal", `UNTRACKABLE_GATEWAY_SECONDS must be above 0 and at most ${MOST_GATEWAY_SECONDS}`);
}

/** The body of a request, which has exactly the length of a sealed report. */
async function sealedBody(request) {
  if (mediaType(request) != REQUEST) throw refused("media-type", `the body must have the media type ${REQUEST}`);
  const otherLength = refused("other-length", `a sealed report has ${SEALED_LENGTH} bytes`);
  if ((request.headers.get("content-length") ?? `${SEALED_LENGTH}`) != `${SEALED_LENGTH}`) throw otherLength;
  const late = refused("too-slow", `a request must arrive within ${REQUEST_SECONDS} seconds`);
  const body = await within(REQUEST_SECONDS, late, read(request.body, SEALED_LENGTH));
  if (body?.length != SEALED_LENGTH) throw otherLength;
  return body;
}

/** What each gateway published, or why it has no keys, and until when that is handed on. */
const published = new Map();

/** The key configurations of a gateway, the same for everybody. */
async function publishedKeys(gateway, seconds) {
  if (!(Date.now() < published.get(gateway)?.until)) {
    const asked = ask(gateway, seconds, LARGEST_KEYS).then(({ status, type, content }) => {
      if (status == 200 && type == KEYS && content.length) return content;
      throw refused("gateway-answer", "the gateway does not publish its keys");
    });
    const keys = await asked.catch(error => error);
    const kept = keys instanceof Error ? FAILED_SECONDS : FRESH_SECONDS;
    published.set(gateway, { keys, until: Date.now() + 1000 * kept });
  }
  const { keys } = published.get(gateway);
  if (keys instanceof Error) throw keys;
  return keys;
}

/** The answer of a gateway to a request of our own: one with a body, or the question for its keys. */
async function ask(gateway, seconds, largest, body) {
  const stop = new AbortController();
  const sent = body ? { method: "POST", headers: { "content-type": REQUEST }, body } : {};
  const exchange = async () => {
    const reply = await fetch(gateway, { ...sent, redirect: "manual", signal: stop.signal });
    return { status: reply.status, type: mediaType(reply), content: await read(reply.body, largest) };
  };
  try {
    const late = refused("gateway-too-slow", `the gateway did not answer within ${seconds} seconds`);
    const reply = await within(seconds, late, exchange());
    if (reply.content) return reply;
    throw refused("gateway-answer", "the gateway's answer is not passed on: it is too large");
  } catch (error) {
    stop.abort();
    if (error.problem) throw error;
    throw refused("gateway-unreachable", "there is no connection to the gateway, or it broke off");
  }
}

/** All bytes of a stream, or nothing if there are too many. */
async function read(stream, most) {
  const content = new Uint8Array(most);
  const reader = stream?.getReader();
  for (let length = 0; ; ) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return content.slice(0, length);
    if (length + value.length > most) return void reader.cancel().catch(() => {});
    content.set(value, length);
    length += value.length;
  }
}

/** The result of some work, which must be there in time. */
async function within(seconds, late, work) {
  let timer;
  const ending = new Promise((_, reject) => (timer = setTimeout(() => reject(late), 1000 * seconds)));
  return Promise.race([work, ending]).finally(() => clearTimeout(timer));
}

const mediaType = ({ headers }) => (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();

function refusal(error) {
  const { problem, message, headers } = error.problem ? error : refused("internal", "this is a fault of the relay");
  const [status, title] = PROBLEMS[problem];
  const content = { type: `urn:untrackable:problem:${problem}`, title, status, detail: message };
  return response(status, PROBLEM, JSON.stringify(content), headers);
}

function response(status, type, content, more) {
  const headers = { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff", ...more };
  return new Response(content, { status, headers });
}
