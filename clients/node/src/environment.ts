/** What the machine around a program says: whether the person objects, and what is known about the network. */
import { networkInterfaces } from "node:os";

/** Whether a variable of the environment says yes. */
const isSet = (name: string) => !["", "0", "false"].includes((process.env[name] ?? "").toLowerCase());

/** Whether the person does not want to be tracked, or there is no person: a machine runs the program (CI). */
export const objects = (): boolean => isSet("DO_NOT_TRACK") || isSet("CI");

/** Whether there is certainly no network. A program tries. */
export const offline = (): boolean => false;

/** A name that changes with Node.js and with this file: another one may accept what was refused. */
export const program = (): string => import.meta.url + process.version;

/** Files stay without being asked for. */
export const persist = (): void => {};

const addresses = () =>
  JSON.stringify(
    Object.values(networkInterfaces())
      .flat()
      .filter(each => !each.internal)
      .map(each => each.address)
      .sort(),
  );

/** Call this whenever the network may have changed, until the function that is returned is called. */
export function watchNetwork(changed: () => void): () => void {
  const before = addresses();
  const timer = setInterval(() => {
    if (addresses() != before) changed();
  }, 500);
  (timer as any).unref(); // It keeps no program alive.
  return () => clearInterval(timer);
}
