/** What the browser around the client says: whether the person objects, and what is known about the network. */

/** Whether the person does not want to be tracked, by Global Privacy Control or Do Not Track. */
export const objects = (): boolean =>
  (navigator as any).globalPrivacyControl || (navigator as any).doNotTrack === "1";

/** Whether there is certainly no network. */
export const offline = (): boolean => navigator.onLine === false;

/** A name that changes with the browser and with this file: another one may accept what was refused. */
export const program = (): string => import.meta.url + navigator.userAgent;

/** Ask the browser to keep what is stored. Some browsers ask the person, who may take long. */
export const persist = (): unknown => navigator.storage?.persist?.().catch(() => {});

/** Call this whenever the network may have changed, until the function that is returned is called. */
export function watchNetwork(changed: () => void): () => void {
  const events: [any, string][] = [
    [globalThis, "offline"],
    [(navigator as any).connection, "change"],
  ];
  events.forEach(([target, event]) => target?.addEventListener?.(event, changed));
  return () => events.forEach(([target, event]) => target?.removeEventListener?.(event, changed));
}
