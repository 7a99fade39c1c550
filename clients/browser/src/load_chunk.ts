/** Loads the parts of the client that few pages need. */
import { Refused } from "./refused.js";

/** The addresses and the digests of the chunks; the build sets them. */
declare const BALLOTS: string, BALLOTS_DIGEST: string;
declare const CONSENT: string, CONSENT_DIGEST: string;
declare const CROWD: string, CROWD_DIGEST: string;
declare const PREVIEW: string, PREVIEW_DIGEST: string;
declare const VIEWS: string, VIEWS_DIGEST: string;

/** Load a chunk. The browser compares the digest of what it preloads, and imports nothing else. */
async function loaded<T>(chunk: string, integrity: string, load: () => Promise<T>): Promise<T> {
  try {
    const link = integrity && globalThis.document?.createElement("link");
    if (link && link.relList.supports("modulepreload")) {
      Object.assign(link, {
        rel: "modulepreload",
        href: new URL(chunk, import.meta.url),
        integrity,
        crossOrigin: "",
      });
      await new Promise((resolve, reject) => {
        link.onload = () => resolve(link.remove());
        link.onerror = reject;
        document.head.append(link);
      });
    }
    return await load();
  } catch {
    throw new Refused("a part of the client cannot be loaded, or was changed", true);
  }
}

/** What only campaigns with ballots need: blind signatures. */
export const ballots = () => loaded(BALLOTS, BALLOTS_DIGEST, () => import("./ballots.js"));
/** The element that asks people, for pages without a question of their own. */
export const consent = () => loaded(CONSENT, CONSENT_DIGEST, () => import("./consent.js"));
/** What only campaigns that rely on a crowd need: Oblivious HTTP. */
export const crowd = () => loaded(CROWD, CROWD_DIGEST, () => import("./crowd.js"));
/** What says in words what would be sent. */
export const words = () => loaded(PREVIEW, PREVIEW_DIGEST, () => import("./preview.js"));
/** What is needed for more or less than one value: choices, records, paths, means, quantiles, sets, uses, presence. */
export const views = () => loaded(VIEWS, VIEWS_DIGEST, () => import("./views.js"));
