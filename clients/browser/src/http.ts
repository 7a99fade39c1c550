/** Requests that carry nothing about the person or the page. */
import type { Bytes } from "./bytes.js";

/** The server's answer: its status, or null if there was none, and the Retry-After delay in seconds. */
export interface Reply {
  status: number | null;
  retryAfter?: number;
}
/** Sends the bytes of a report once. A campaign that asks for another way of sending brings its own. */
export type Post = (address: string, body: Bytes) => Promise<Reply>;
/** A request that says nothing about the person or the page. */
export const request = (address: string, more?: RequestInit) =>
  fetch(address, {
    credentials: "omit",
    cache: "no-store",
    redirect: "manual",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(60_000),
    ...more,
  });

/** Send a report to the collector itself. */
export async function post(address: string, body: Bytes): Promise<Reply> {
  try {
    const { status, headers } = await request(address, {
      method: "POST",
      body,
      headers: { "content-type": "application/octet-stream" },
    });
    return { status, retryAfter: +headers.get("retry-after")! || 0 };
  } catch {
    return { status: null };
  }
}
