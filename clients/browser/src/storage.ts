/** Keeps things in IndexedDB, under a Web Lock. */
import type { Ledger, Place, State, Storage } from "./kept.js";
import { need, Refused } from "./refused.js";

/** Whether this page is in a frame of another site, or may be: its storage would be one of several. */
function inForeignFrame(): boolean {
  try {
    for (let each: any = globalThis; each.parent && each.parent != each; each = each.parent) {
      if (each.parent.origin != origin) return true;
    }
    return false;
  } catch {
    return true;
  }
}

/** Hold a lock that no other tab has meanwhile. */
async function locked<T>(name: string, work: () => Promise<T>): Promise<T> {
  need(globalThis.navigator?.locks && crypto.subtle, "this page must be served by https");
  return navigator.locks.request("untrackable" + name, work) as Promise<T>;
}

/** Do something in one transaction, and wait until it is on disk. */
async function stored<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => T): Promise<T> {
  need(
    !inForeignFrame(),
    "this page is in a frame of another site, where there is another ledger",
  );
  try {
    const opening = indexedDB.open("untrackable", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    try {
      const transaction = database.transaction("kept", mode, { durability: "strict" });
      const found = work(transaction.objectStore("kept"));
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      return found;
    } finally {
      database.close();
    }
  } catch (error: any) {
    throw new Refused(`the browser's storage does not work (${error?.name}), so nothing is answered`);
  }
}

/** The ledger and the state of one campaign. */
async function read(id: string): Promise<[Ledger, State?]> {
  const found = await stored("readonly", store => [store.get("ledger"), store.get(id)]);
  return [found[0].result ?? { accounts: {} }, found[1].result];
}

/** Replace ledger and state at once; without a state, the one before is forgotten. */
const write = (ledger: Ledger, id: string, state?: State) =>
  stored("readwrite", store => {
    store.put(ledger, "ledger");
    if (state) store.put(state, id);
    else store.delete(id);
  });

/** The storage of this origin. */
export const storageOf = (_: Place): Storage => ({ locked, read, write });
