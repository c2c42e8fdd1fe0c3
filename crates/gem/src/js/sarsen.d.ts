// Types of the module "sarsen", for editors and for `tsc --checkJs`. `docs/handlers.md` says what
// each thing does; here is only what it takes and gives.
//
// An application may say what its collections and its session hold, and what its middleware puts on
// the context, in a file of its own (`types.d.ts`):
//
//     declare module "sarsen" {
//       interface Collections { notes: { title: string; stars: number } }
//       interface SessionData { user?: string }
//       interface Variables { user?: User }
//     }
//
// From then on `db.notes.get(key)` has that type, and a collection that is not declared is an error.

declare module "sarsen" {
  // What an application declares; see above.
  interface Collections {}
  interface SessionData {}
  interface Variables {}

  type Declared<T, Otherwise> = keyof T extends never ? Otherwise : T;

  // ---- Routes ----

  /** An application, or a part of one: routes, middleware and services, in order. */
  export class App {
    /** Answers GET, and HEAD where no route of its own does. */
    get<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    head<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    post<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    put<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    patch<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    delete<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    options<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    /** Answers every method. */
    all<P extends string>(pattern: P, ...functions: RouteFunctions<P>): this;
    /** Answers these methods on these patterns. */
    on<P extends string>(
      methods: string | string[],
      patterns: P | P[],
      ...functions: RouteFunctions<P>
    ): this;
    /** Runs for all that is registered after it. */
    use(...middleware: [Middleware, ...Middleware[]]): this;
    /** Runs for what is registered after it, at this pattern and below. */
    use<P extends string>(
      pattern: P,
      ...middleware: [Middleware<Params<P>>, ...Middleware<Params<P>>[]]
    ): this;
    /** Registers what `define` registers on its argument, each pattern behind `prefix`. */
    group(prefix: string, define: (group: App) => void): this;
    /** Registers all that `app` has, each pattern behind `prefix`. */
    route(prefix: string, app: App): this;
    /** Answers what no route takes, with status 404 unless it says another. */
    notFound(handler: (context: Context) => Result | Promise<Result>): this;
    /** Answers what fails, with the error's status, or 500, unless it says another. */
    onError(handler: (error: any, context: Context) => Result | Promise<Result>): this;
    /** Binds functions to a collection, which are asked about each document written or shown. */
    service<Name extends CollectionName>(name: Name, functions: Service<Document<Name>>): this;

    /** Runs `handler` for each task of this name that a handler has started, after its commit. */
    task<T = any>(name: string, handler: TaskHandler<T>): this;
    task<T = any>(name: string, options: TaskOptions, handler: TaskHandler<T>): this;
    /** Runs `handler` at the times of a cron expression of five fields, in UTC. */
    cron(expression: string, name: string, handler: TaskHandler<null>): this;
    cron(
      expression: string,
      name: string,
      options: TaskOptions,
      handler: TaskHandler<null>,
    ): this;
  }

  /** Handles a task; what it returns is not used, what it throws makes it run again later. */
  export type TaskHandler<T> = (context: TaskContext<T>) => unknown;

  /** What the tasks of a name are given; docs/tasks.md. */
  export interface TaskOptions {
    /** Runs that may fail, 1 to 100; 10 if not given. After the last the task is dead. */
    attempts?: number;
    /** Longest wait after the first failure; "5s" if not given. It doubles with each failure. */
    backoff?: Duration;
    /** Longest time of a run, what it awaits included; "60s" if not given. */
    timeout?: Duration;
    /** How long after it was due a task may begin; for ever if not given. */
    expires?: Duration;
  }

  /** What the handler of a task receives. */
  export interface TaskContext<T> {
    readonly db: Db;
    /** Values that may be gone at any time; docs/cache.md. */
    readonly cache: Cache;
    /** Asks another server that `[fetch]` in sarsen.toml allows. */
    readonly fetch: Fetch;
    /** Starts a task with this run's commit. */
    readonly task: StartTask;
    /** Milliseconds since 1970, the same for the whole run. */
    readonly time: number;
    /** What the task was started with. */
    readonly payload: T;
    /** 1 in the first run, and 1 more after each that failed. */
    readonly attempt: number;
    /** The same in every run of this task, and no other's. */
    readonly id: string;
    readonly name: string;
    /** When it was to run, in milliseconds since 1970. */
    readonly due: number;
  }

  /** When a value of the cache expires, to the second; never if not given. */
  export interface CacheExpiry {
    expiresIn?: Duration;
    expires?: Date;
  }

  /** Values that may be gone at any time, shared with memcached clients; docs/cache.md. */
  export interface Cache {
    /** The value that was stored as JSON. */
    get<T = any>(key: string): T | undefined;
    getText(key: string): string | undefined;
    getBytes(key: string): Uint8Array | undefined;
    /** Stores when the request commits: bytes as they are, anything else as JSON. */
    set(key: string, value: unknown, options?: CacheExpiry): void;
    /** Removes when the request commits. */
    delete(key: string): void;
    /** A value and its number, for `cas`; the same in every run of the request. */
    gets<T = any>(key: string): { value: T; cas: string } | undefined;
    /** Stores at once if nobody has since `gets`; whether nobody has. */
    cas(key: string, value: unknown, cas: string, options?: CacheExpiry): boolean;
    /** Stores at once if there is nothing; whether there was nothing. */
    add(key: string, value: unknown, options?: CacheExpiry): boolean;
    /** Adds to a number at once and gives the sum; undefined if there is none and no `initial`. */
    incr(
      key: string,
      delta?: number,
      options?: CacheExpiry & { initial?: number },
    ): number | undefined;
    /** The other way; stops at 0. */
    decr(
      key: string,
      delta?: number,
      options?: CacheExpiry & { initial?: number },
    ): number | undefined;
    /** Changes at once when a value expires; whether there is one. */
    touch(key: string, options?: CacheExpiry): boolean;
    /**
     * The value; if there is none, what `compute` gives. One request computes; meanwhile, and for
     * `stale` ("1m") after `ttl`, others get the old value.
     */
    fetch<T>(
      key: string,
      ttl: Duration,
      compute: () => T | Promise<T>,
      options?: { stale?: Duration },
    ): Promise<T>;
  }

  /** Asks another server; the run ends, and another one goes on with the answer. */
  export type Fetch = (
    url: string | { toString(): string },
    options?: {
      method?: string;
      headers?: Record<string, string> | Map<string, string>;
      /** Text, bytes, or an object that is sent as JSON; at most 4 MiB. */
      body?: string | Uint8Array | ArrayBuffer | object;
      /** From the beginning to the end of the reply; "30s" if not given. */
      timeout?: Duration;
      redirect?: "follow" | "manual" | "error";
    },
  ) => Promise<FetchAnswer>;

  /** What another server answered. */
  export interface FetchAnswer {
    readonly status: number;
    /** Whether the status is 200 to 299. */
    readonly ok: boolean;
    /** Where it came from, after redirects. */
    readonly url: string;
    /** By names in whatever case; several of one name are joined by ", ". */
    readonly headers: ReadonlyMap<string, string>;
    text(): string;
    json(): any;
    bytes(): Uint8Array;
  }

  /** Starts a task with the commit, and gives its id. */
  export type StartTask = (
    name: string,
    payload?: unknown,
    options?: {
      /** The task is due so much later. */
      delay?: Duration;
      /** Makes it the only one of its name that waits or runs. */
      key?: string;
      /** Goes before that of the definition. */
      expires?: Duration;
    },
  ) => string;

  /** What answers a request. One with a second parameter may leave it to the route after it. */
  export type Handler<P = Params<string>> = (
    context: Context<P>,
    next: Next,
  ) => Result | Promise<Result>;

  /** Runs before, around or instead of what is registered after it. */
  export type Middleware<P = Params<string>> = (
    context: Context<P>,
    next: Next,
  ) => Result | Promise<Result>;

  type RouteFunctions<P extends string> = [...Middleware<Params<P>>[], Handler<Params<P>>];

  /** Runs what comes after, and gives its result; with an error, throws that. */
  export type Next = (error?: unknown) => Promise<Result>;

  /** What a handler may return. */
  export type Result =
    | Html
    | Reply
    | string
    | object
    | Uint8Array
    | ArrayBuffer
    | null
    | undefined
    | void;

  // The values that a pattern finds: those of its names that are certain, and the others.
  type Params<P extends string> = string extends P
    ? { [name: string]: string | undefined }
    : { [Name in RequiredNames<P>]: string } & { [Name in OptionalNames<P>]?: string } & {
        [name: string]: string | undefined;
      };
  type Segments<P extends string> = P extends `${infer First}/${infer Rest}`
    ? First | Segments<Rest>
    : P;
  type RequiredNames<P extends string> = NameOf<Segments<P>, false>;
  type OptionalNames<P extends string> = NameOf<Segments<P>, true>;
  type NameOf<S extends string, Optional extends boolean> = S extends `:${infer Name}`
    ? Name extends `${infer Bare}?`
      ? Optional extends true
        ? Unbraced<Bare>
        : never
      : Optional extends true
        ? never
        : Unbraced<Name>
    : S extends "*"
      ? Optional extends true
        ? "*"
        : never
      : never;
  type Unbraced<Name extends string> = Name extends `${infer Bare}{${string}` ? Bare : Name;

  // ---- What a handler receives ----

  export type Context<P = Params<string>> = ContextOf<P> & Variables;

  interface ContextOf<P> {
    /** The collections. */
    readonly db: Db;
    /** Values that may be gone at any time; docs/cache.md. */
    readonly cache: Cache;
    /** The visitor's own object; stored when it has changed. */
    readonly session: Declared<SessionData, Record<string, any>>;
    /** The values that the route found in the path. */
    readonly params: P;
    /** The fields of the query; of equal names the last. */
    readonly query: Record<string, string | undefined>;
    readonly request: Request;
    /** Throws: only tasks ask other servers. */
    readonly fetch: (...call: never[]) => never;
    /** Starts a task with the request's commit; docs/tasks.md. */
    readonly task: StartTask;
    /** Milliseconds since 1970, the same for the whole request, as `Date.now()`. */
    readonly time: number;
    /** Sets a header field of the reply: a default before there is one, a change afterwards. */
    readonly header: (name: string, value: string | number, options?: { append?: boolean }) => void;
    /** Sets the status of the reply, in the same way. */
    readonly status: (code: number) => void;
    /** Gives the session a new id and makes `data` all that it holds. */
    readonly login: (data?: Declared<SessionData, Record<string, any>>) => void;
    /** Deletes the session. */
    readonly logout: () => void;
    /** Gives the session a new id and keeps what it holds. */
    readonly renewSession: () => void;
    /** Keeps a text for the page that is shown next. */
    readonly flash: (message: string, kind?: string) => void;
    /** The texts that wait, each shown once. */
    readonly flashes: () => { message: string; kind: string }[];
    readonly cookies: Cookies;
  }

  /** The cookies of the request, and those of the reply. The session's own is not among them. */
  export interface Cookies {
    /** What came with the request; a signed one only if the signature is the server's. */
    get(name: string, options?: { signed?: boolean }): string | undefined;
    /** Has the reply set one; the last of equal name, path and domain. */
    set(name: string, value: string, options?: CookieOptions): void;
    /** Has the reply delete one that was set with this path and domain. */
    delete(name: string, options?: { path?: string; domain?: string; secure?: boolean }): void;
  }

  export interface CookieOptions {
    /** At most "400d"; without it, as long as the browser says. */
    maxAge?: Duration;
    /** "/" unless given. */
    path?: string;
    /** This host alone unless given. */
    domain?: string;
    /** Hidden from scripts; true unless given. */
    httpOnly?: boolean;
    /** Sent over https alone; unless given, if the request came so. */
    secure?: boolean;
    /** "Lax" unless given. */
    sameSite?: "Strict" | "Lax" | "None";
    /** The visitor can read it but not change it. */
    signed?: boolean;
  }

  /** The request as it came. */
  export interface Request {
    readonly method: string;
    /** Percent-encoded. */
    readonly path: string;
    /** A header field; several of one name are joined. */
    header(name: string): string | undefined;
    /** All header fields, names in lower case. */
    readonly headers: Record<string, string | undefined>;
    /** All values of a field of the query. */
    queryAll(name: string): string[];
    text(): string;
    json<T = any>(): T;
    bytes(): Uint8Array;
    /** The fields of a form, with or without files; of equal names the last. */
    form<T = Record<string, any>>(): T;
    /** All values of a field of the form. */
    formAll<T = any>(name: string): T[];
  }

  /** A file that came in a form. Its name and type are the visitor's words. */
  export interface FormFile {
    readonly name: string;
    readonly type: string;
    readonly size: number;
    readonly bytes: Uint8Array;
    text(): string;
  }

  // ---- Documents ----

  type CollectionName = keyof Declared<Collections, Record<string, any>> & string;
  type Document<Name extends string> = Name extends keyof Collections ? Collections[Name] : any;

  /** The collections, by name. */
  export type Db = keyof Collections extends never
    ? { readonly [name: string]: Collection<any> }
    : { readonly [Name in keyof Collections]: Collection<Collections[Name]> };

  /** Milliseconds, or a text such as "30m": ms, s, m, h or d. */
  export type Duration = number | string;

  export type Expiry = { expiresIn: Duration } | { expires: Date };

  export interface Collection<T> {
    /** The document, the same object each time; what is changed in it is stored. */
    get(key: string): T | undefined;
    /** A frozen copy that may be older than the commit; never a cause of conflict. */
    peek(key: string): DeepReadonly<T> | undefined;
    has(key: string): boolean;
    meta(key: string): DocumentMeta | undefined;
    /** Stores a new document; throws if the key exists. Gives the key. */
    insert(key: string, value: T, options?: Expiry): string;
    /** Stores a new document under a key that sorts by time. Gives the key. */
    insert(value: T): string;
    /** Stores the value, whatever was there. */
    put(key: string, value: T, options?: Expiry): void;
    /** Says when the document expires; without options, as the collection's settings say. */
    expire(key: string, options?: Expiry): boolean;
    delete(key: string): void;
    /** Merge operations, on the document or at a path such as "/stars": they never conflict. */
    add(key: string, value: number): void;
    add(key: string, path: string, value: number): void;
    min(key: string, value: number): void;
    min(key: string, path: string, value: number): void;
    max(key: string, value: number): void;
    max(key: string, path: string, value: number): void;
    append(key: string, value: any): void;
    append(key: string, path: string, value: any): void;
    setAdd(key: string, value: any): void;
    setAdd(key: string, path: string, value: any): void;
    setRemove(key: string, value: any): void;
    setRemove(key: string, path: string, value: any): void;
    insertIfAbsent(key: string, value: any): void;
    insertIfAbsent(key: string, path: string, value: any): void;
    /** The documents between two keys, in the order of their keys. */
    range(options?: RangeOptions): Results<T>;
    keys(options?: RangeOptions): Iterable<string>;
    count(options?: RangeOptions): number;
    /** The documents to which a filter applies. What stands in `${...}` is a value. */
    query(filter: TemplateStringsArray, ...values: QueryValue[]): Query<T>;
    query(): Query<T>;
    getBytes(key: string): { mediaType: string; bytes: Uint8Array } | undefined;
    putBytes(
      key: string,
      bytes: Uint8Array | ArrayBuffer,
      options?: { mediaType?: string } & Partial<{ expiresIn: Duration; expires: Date }>,
    ): void;
    /** Content by reference: to be returned or put elsewhere, and never in memory. */
    stored(key: string): Stored | undefined;
    putStored(
      key: string,
      stored: Stored,
      options?: { mediaType?: string } & Partial<{ expiresIn: Duration; expires: Date }>,
    ): void;
  }

  export interface Stored {
    readonly mediaType: string;
    /** In bytes. */
    readonly size: number;
    /** BLAKE3, in hexadecimal digits; of content in a file of its own (above 64 KiB). */
    readonly hash: string | undefined;
  }

  export interface DocumentMeta {
    /** undefined if it is not committed yet. */
    version: number | undefined;
    created: Date | undefined;
    updated: Date | undefined;
    expires: Date | undefined;
    mediaType: string;
    size: number;
    /** Of content in a file of its own: BLAKE3, in hexadecimal digits. */
    hash?: string;
  }

  export interface RangeOptions {
    from?: string;
    after?: string;
    to?: string;
    before?: string;
    prefix?: string;
    reverse?: boolean;
    limit?: number;
  }

  export type QueryValue = string | number | boolean | null | Date;

  /** Documents, read as they are asked for; the values are frozen. */
  export interface Results<T> extends Iterable<[string, DeepReadonly<T>]> {
    keys(): Iterable<string>;
    values(): Iterable<DeepReadonly<T>>;
    map<U>(f: (row: [string, DeepReadonly<T>]) => U): U[];
    toArray(): [string, DeepReadonly<T>][];
    first(): [string, DeepReadonly<T>] | undefined;
    count(): number;
    documents(): Iterable<{ key: string; value: DeepReadonly<T> | undefined } & DocumentMeta>;
  }

  export interface Query<T> extends Results<T> {
    /** Such as "stars desc, title". */
    order(order: string): Query<T>;
    limit(limit: number): Query<T>;
    after(cursor: string | undefined): Query<T>;
    fields(fields: string): Query<T>;
    /** Where the next page begins, after an iteration up to the limit. */
    readonly next: string | undefined;
  }

  type Builtin = string | number | boolean | bigint | symbol | null | undefined | Date | Uint8Array;
  export type DeepReadonly<T> = T extends Builtin
    ? T
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T;

  // ---- Services ----

  /** The functions of a collection's service; what they return is shown or stored. */
  export interface Service<T> {
    onGet?(call: ServiceCall<T>): any;
    onPost?(call: ServiceCall<T>): T | void | Promise<T | void>;
    onPut?(call: ServiceCall<T>): T | void | Promise<T | void>;
    onPatch?(call: ServiceCall<T>): T | void | Promise<T | void>;
    onDelete?(call: ServiceCall<T>): void | Promise<void>;
    onExpire?(call: ServiceCall<T>): void | Promise<void>;
  }

  export interface ServiceCall<T> {
    readonly collection: string;
    readonly key: string;
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "EXPIRE";
    /** What is there. Frozen, except for onGet. */
    doc: T;
    /** What is to be there. */
    body: T;
    readonly db: Db;
    /** Values that may be gone at any time; docs/cache.md. */
    readonly cache: Cache;
    readonly request: Request;
    readonly session: DeepReadonly<Declared<SessionData, Record<string, any>>>;
    readonly time: number;
    /** Starts a task with the commit. */
    readonly task: StartTask;
    /** The id of the token that the request came with. */
    readonly principal: string | undefined;
  }

  // ---- Replies ----

  /** Text that is HTML: the result of `html` or `raw`. */
  export interface Html {
    readonly text: string;
    toString(): string;
  }

  /** What may stand in a template: text is escaped, lists are joined, nothing is shown as nothing. */
  export type Shown =
    | Html
    | string
    | number
    | bigint
    | boolean
    | null
    | undefined
    | { toString(): string }
    | readonly Shown[];

  /** A page, or a part of one. */
  export function html(strings: TemplateStringsArray, ...values: Shown[]): Html;
  /** Text that is HTML on purpose. Never give it anything that a visitor wrote. */
  export function raw(text: string): Html;

  /**
   * The URL of a file in `public/`, with the hash of its content: browsers keep what they get there
   * for a year. `asset("/style.css")` is `/style.css?v=...`. Throws if there is no such file.
   */
  export function asset(path: string): string;

  type HeaderValues = Record<string, string | number | readonly (string | number)[]>;

  export interface ReplyOptions {
    status?: number;
    headers?: HeaderValues;
    /** The media type. */
    type?: string;
  }

  /** A reply that was checked; it cannot be changed. */
  export interface Reply {
    readonly status: number | undefined;
    readonly type: string | undefined;
    readonly body: unknown;
  }

  export function reply(options?: ReplyOptions & { body?: Result }): Reply;
  /** JSON, of the value as it is now. */
  export function json(value: unknown, options?: ReplyOptions): Reply;
  export function text(body: string, options?: ReplyOptions): Reply;
  export function bytes(body: Uint8Array | ArrayBuffer, options?: ReplyOptions): Reply;
  export function redirect(url: string, status?: 301 | 302 | 303 | 307 | 308): Reply;

  /** The client's fault: ends the request with a status from 400 to 499. Nothing is committed. */
  export class HttpError extends Error {
    constructor(status: number, message?: string, options?: { headers?: HeaderValues });
    readonly status: number;
  }

  /** Throws an HttpError. */
  export function refuse(status: number, message: string): never;

  // ---- Passwords ----

  /** Passwords, hashed by argon2id beside the gems. */
  export const password: {
    /** The hash to store: a PHC string. */
    hash(password: string): Promise<string>;
    /** Whether it is the password that was hashed. */
    verify(password: string, hash: string): Promise<boolean>;
    /** Whether the hash was made with other parameters than `hash` uses now. */
    needsRehash(hash: string): boolean;
  };
}

/** Writes to the server's log. */
interface Console {
  debug(...values: any[]): void;
  log(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
}

declare var console: Console;
