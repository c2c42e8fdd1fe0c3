// The application object: it collects routes while the application's modules load. Matching a
// request against them is not done here: the engine takes the list once and compiles it.
import { native } from "sarsen:native";
import { install, service } from "sarsen:services";

// Gives the engine the routes of an application and closes the list.
export let take;

// Puts the services of an application that was taken in place, and lists them.
export let takeServices;

export class App {
  #routes = [];
  #services = new Map();
  #taken = false;

  static {
    take = (app) => {
      if (typeof app !== "object" || app === null || !(#routes in app)) return undefined;
      app.#taken = true;
      return app.#routes;
    };
    takeServices = (app) => install(app.#services);
  }

  // Answers GET and HEAD on `pattern`: literal segments, `:name`, and `*` as the last segment.
  get(pattern, handler) {
    return this.#add("GET", pattern, handler);
  }

  // Answers POST on `pattern`.
  post(pattern, handler) {
    return this.#add("POST", pattern, handler);
  }

  // Binds functions to a collection: they are asked about each of its documents that is read or
  // written, whoever does it.
  service(collection, functions) {
    if (this.#taken) {
      throw new Error("app.service: services are bound while the application loads, not later");
    }
    const bound = service(collection, functions);
    if (this.#services.has(collection)) {
      throw new Error(`app.service("${collection}"): the collection has a service already`);
    }
    this.#services.set(collection, bound);
    return this;
  }

  #add(method, pattern, handler) {
    const call = `app.${method.toLowerCase()}`;
    if (this.#taken) {
      throw new Error(`${call}: routes are registered while the application loads, not later`);
    }
    if (typeof pattern !== "string") {
      throw new TypeError(`${call}: expected a path such as "/notes/:id", got ${typeof pattern}`);
    }
    if (typeof handler !== "function") {
      throw new TypeError(`${call}("${pattern}"): expected a function, got ${typeof handler}`);
    }
    native.checkPattern(pattern);
    this.#routes.push({ method, pattern, handler });
    return this;
  }
}
