// A refusal: the request cannot be granted for a reason that its client is to read. Unless it is
// caught, nothing is committed, and the reply has the status and the message.
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.name = "Refusal";
    this.status = status;
  }
}

// Throws a refusal with a status from 400 to 499.
export function refuse(status, message) {
  if (!Number.isInteger(status) || status < 400 || status > 499) {
    throw new RangeError(`refuse: expected a status from 400 to 499, got ${String(status)}`);
  }
  if (typeof message !== "string" || message === "") {
    throw new TypeError("refuse: expected a message for the client");
  }
  throw new Refusal(status, message.toWellFormed());
}
