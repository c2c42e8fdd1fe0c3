// Types of the module "sarsen:test", which the tests of an application import; `docs/testing.md`
// says what each thing does.

declare module "sarsen:test" {
  import type { Db, Duration } from "sarsen";

  /** Registers a test. */
  export function test(title: string, run: () => void | Promise<void>): void;

  export function expect(value: any): Expectation;
  export function assert(condition: any, message?: string): asserts condition;

  export interface Expectation {
    readonly not: Expectation;
    toBe(expected: any): void;
    toEqual(expected: any): void;
    toMatchObject(expected: object): void;
    toContain(expected: any): void;
    toMatch(expected: RegExp | string): void;
    toHaveLength(expected: number): void;
    toBeGreaterThan(expected: number): void;
    toBeLessThan(expected: number): void;
    toBeTruthy(): void;
    toBeUndefined(): void;
    toThrow(expected?: any): void;
  }

  export interface RequestOptions {
    query?: Record<string, any>;
    form?: Record<string, any>;
    files?: Record<string, { name: string; type?: string; text?: string; bytes?: Uint8Array }>;
    json?: any;
    text?: string;
    bytes?: Uint8Array;
    headers?: Record<string, string | null>;
    redirects?: boolean;
  }

  export interface TestReply {
    readonly status: number;
    readonly headers: Record<string, any>;
    readonly url: string;
    readonly redirects: string[];
    text(): string;
    json(): any;
    bytes(): Uint8Array;
  }

  /** One request of somebody without cookies. */
  export function request(
    method: string,
    path: string,
    options?: RequestOptions,
  ): Promise<TestReply>;

  /** A visitor, who keeps cookies and follows redirects. */
  export function client(options?: {
    redirects?: boolean;
    headers?: Record<string, string | null>;
  }): Client;

  export interface Client {
    readonly cookies: any;
    get(path: string, options?: RequestOptions): Promise<TestReply>;
    head(path: string, options?: RequestOptions): Promise<TestReply>;
    post(path: string, options?: RequestOptions): Promise<TestReply>;
    put(path: string, options?: RequestOptions): Promise<TestReply>;
    patch(path: string, options?: RequestOptions): Promise<TestReply>;
    delete(path: string, options?: RequestOptions): Promise<TestReply>;
    request(method: string, path: string, options?: RequestOptions): Promise<TestReply>;
  }

  /** The repository's clock; both wait until tasks that are due have run. */
  export const clock: { advance(duration: Duration): void; settle(): void; now(): number };

  /** The documents; each call is a transaction of its own. */
  export const db: Db;
  export function transaction<T>(run: (given: { db: Db }) => T): T;
}
