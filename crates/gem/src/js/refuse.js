// A refusal: the request cannot be granted for a reason that its client is to read.
import { HttpError } from "sarsen:failure";

// Throws an `HttpError` with this status, from 400 to 499, and this message.
export function refuse(status, message) {
  if (!Number.isInteger(status) || status < 400 || status > 499) {
    throw new RangeError(`refuse: expected a status from 400 to 499, got ${String(status)}`);
  }
  if (typeof message !== "string" || message === "") {
    throw new TypeError("refuse: expected a message for the client");
  }
  throw new HttpError(status, message);
}
