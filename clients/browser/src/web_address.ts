/** Addresses of servers: https, except on this machine, and nothing in them about a person. */
import { need } from "./refused.js";

export const isLocal = ({ hostname }: URL) => /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);

/** The address in a text. Errors call it `name`. */
export function webAddress(name: string, given: string): URL {
  const found = new URL(given);
  need(
    (found.protocol == "https:" || isLocal(found)) && !found.username && !found.search && !found.hash,
    name + " must be an https address, without user name, ? or #",
  );
  return found;
}
