// Takes photos in and gives them out: bytes and forms on the wire, every method, and middleware.
import { App, HttpError, bytes, json } from "sarsen";

const app = new App();

app.use(async (context, next) => {
  const result = await next();
  context.header("x-method", context.request.method);
  return result;
});

app.post("/photos", ({ db, request, status, header }) => {
  const form = request.form();
  if (!form.photo?.size) throw new HttpError(400, "choose a photo");
  const key = db.photos.insert({ title: form.title, name: form.photo.name, type: form.photo.type });
  db.files.putBytes(key, form.photo.bytes, { mediaType: form.photo.type });
  status(201);
  header("location", `/photos/${key}`);
  return json({ key, size: form.photo.size, tags: request.formAll("tag") });
});

app.group("/photos/:key", (photo) => {
  photo.get("/", ({ db, params }) => {
    const found = db.files.getBytes(params.key);
    if (found === undefined) throw new HttpError(404, "no such photo");
    return bytes(found.bytes, { type: found.mediaType });
  });
  photo.get("/about", ({ db, params }) => db.photos.peek(params.key));
  photo.put("/", ({ db, params, request }) => {
    db.files.putBytes(params.key, request.bytes());
  });
  photo.delete("/", ({ db, params }) => {
    db.photos.delete(params.key);
    db.files.delete(params.key);
  });
});

app.post("/echo", ({ request }) => request.bytes());
app.get("/zeros/:count{[0-9]{1,9}}", ({ params }) => new Uint8Array(Number(params.count)));
app.onError((error, { request }) => json({ failed: request.path, why: error.message }));

export default app;
