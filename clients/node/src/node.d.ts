/** What this package uses of Node.js. The types of Node.js are a dependency, and this package has none. */

declare module "node:child_process" {
  export function spawn(program: string, given: string[], how: object): { unref(): void };
}

declare module "node:crypto" {
  export const webcrypto: Crypto;
  export function createHash(name: string): { update(text: string): { digest(as: "hex"): string } };
  export function randomBytes(size: number): { toString(as: "hex"): string };
}

declare module "node:fs" {
  export function readlinkSync(path: string): string;
}

declare module "node:fs/promises" {
  interface Handle {
    writeFile(text: string): Promise<void>;
    sync(): Promise<void>;
    close(): Promise<void>;
  }
  interface Status {
    size: number;
    mode: number;
    uid: number;
    mtimeMs: number;
    isDirectory(): boolean;
  }
  export function link(from: string, to: string): Promise<void>;
  export function mkdir(path: string, how: { recursive: true; mode: number }): Promise<unknown>;
  export function open(path: string, how: string, mode?: number): Promise<Handle>;
  export function readdir(path: string): Promise<string[]>;
  export function readFile(path: string, as: "utf8"): Promise<string>;
  export function rename(from: string, to: string): Promise<void>;
  export function stat(path: string): Promise<Status>;
  export function unlink(path: string): Promise<void>;
  export function utimes(path: string, accessed: Date, changed: Date): Promise<void>;
}

declare module "node:os" {
  export function homedir(): string;
  export function hostname(): string;
  export function networkInterfaces(): Record<string, { address: string; internal: boolean }[]>;
}

declare module "node:path" {
  export function join(...parts: string[]): string;
  export function resolve(path: string): string;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
}

declare const process: {
  execPath: string;
  env: Record<string, string | undefined>;
  pid: number;
  platform: string;
  version: string;
  exit(): never;
  getuid(): number;
  kill(pid: number, signal: 0): void;
};
