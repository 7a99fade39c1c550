/** Loads the chunk for joining, if the page needs it. */
import { Refused } from "./refused.js";

/** The address and the digest of the chunk for joining; the build sets them. */
declare const CHUNK: string, INTEGRITY: string;

/** What only joining needs is a file of its own: the checks of documents, and the arithmetic of guarantees. */
export async function joining() {
  const link = INTEGRITY && globalThis.document?.createElement("link");
  if (link && link.relList.supports("modulepreload")) {
    // The browser compares the digest of what it preloads, and imports nothing else.
    Object.assign(link, {
      rel: "modulepreload",
      href: new URL(CHUNK, import.meta.url),
      integrity: INTEGRITY,
      crossOrigin: "",
    });
    await new Promise((resolve, reject) => {
      link.onload = resolve;
      link.onerror = () => reject(new Refused("a part of the client cannot be loaded, or was changed"));
      document.head.append(link);
    });
  }
  return import("./joining.js");
}
