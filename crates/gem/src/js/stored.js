// The content of a document by reference: it may be too large for this engine's memory, and is
// never in it. A handler may return it, or put it under another key.
import { check } from "sarsen:life";

const { freeze } = Object;

// Whether a value is such a reference, and the number under which the request knows it.
let isStored;
let idOf;

export class Stored {
  #id;
  #life;

  static {
    isStored = (value) => typeof value === "object" && value !== null && #id in value;
    idOf = (stored) => {
      check(stored.#life);
      return stored.#id;
    };
  }

  constructor(id, life, { mediaType, size, hash }) {
    this.#id = id;
    this.#life = life;
    this.mediaType = mediaType;
    this.size = size;
    this.hash = hash;
    freeze(this);
  }
}

export { idOf, isStored };
