// Conversions whose results are to be the engine's own.
const value = (depth) => {
  const kind = draw(depth > 1 ? 4 : 7);
  if (kind === 0) return draw(1e6) / 7;
  if (kind === 1) return letters(draw(200), ['a', '"', '\\', ',', ':', '[', '}', 'é', '😀', '\n']);
  if (kind < 4) return [null, true, false][draw(3)];
  if (kind === 4) return Array.from({ length: draw(30) }, () => value(depth + 1));
  return Object.fromEntries(Array.from({ length: draw(30) }, (_, i) =>
    [draw(4) === 0 ? String(draw(1000)) : letters(3, ['a', '"', 'b', '__proto__']),
      value(depth + 1)]));
};
for (let round = 0; round < 12; round++) {
  const members = Array.from({ length: 60 }, () => value(0));
  const text = JSON.stringify(draw(2) ? members : { ...members, a: members, __proto__: null,
    ['__proto__']: 1 }, null, draw(3));
  const parsed = JSON.parse(text);
  out.push(text.length, JSON.stringify(parsed).slice(0, 500), JSON.stringify(parsed, null,
    1).length);
  out.push(JSON.stringify(JSON.parse(text, (k, v) => typeof v === 'number' ? 1 : v)).length);
}
const long = '{"__proto__":{"a":1},"b":[' + '1,'.repeat(70000) + '2],"b":3,"10":1,"9":2}';
const parsed = JSON.parse(long);
out.push(Object.keys(parsed), Object.getPrototypeOf(parsed) === Object.prototype, parsed.b);
for (const odd of ['', '{', '[1,]', '"\t"', 'nul', '1 2', ' [1 ] ', '"\ud800"',
  '[' + '1,'.repeat(70000) + ']', undefined, null, {}, Symbol.iterator]) {
  out.push(said(() => JSON.stringify(JSON.parse(odd))));
}
for (const odd of [1, '12', ' 0x1f ', '1n', '', 1.5, true, undefined, null, [], ['7'],
  { valueOf: () => 7 }, Symbol.iterator, 2n]) {
  out.push(said(() => String(BigInt(odd))), said(() => String(new BigInt(odd))));
  out.push(said(() => String(new RegExp(odd))), said(() => String(RegExp(odd, 'g'))));
  out.push(said(() => JSON.stringify(Object.fromEntries(odd))),
    said(() => JSON.stringify(Object.fromEntries([odd]))));
}
const pattern = /a(?<b>.)/gu;
out.push(RegExp(pattern) === pattern, new RegExp(pattern) === pattern,
  RegExp.prototype.constructor === RegExp);
out.push(pattern instanceof RegExp, 'xabac'.split(/a/), 'xab'.replace(pattern, '$<b>'),
  RegExp.name, RegExp.length);
out.push(typeof BigInt(1), BigInt.asIntN(3, 25n), BigInt.name, BigInt.length,
  (255n).toString(16)).toString();
out.push(class extends RegExp {}.name, new (class X extends RegExp { y() { return 1; } })('a').y());
for (const odd of [undefined, null, [], [1, 2, 3], 'abb']) {
  out.push(said(() => JSON.stringify(Object.groupBy(odd, (x, i) => i + '-' + x))));
  out.push(said(() => JSON.stringify([...Map.groupBy(odd, (x) => x === 2 || -0)])),
    said(() => Object.groupBy(odd)));
}
out.push(JSON.stringify(Object.groupBy([1, 2, 3, 4],
  (x) => x % 2 ? '__proto__' : { toString: () => 'x' })));
out.push([3, 1, 2, 10, undefined, 'b'].sort(), [3, 1, 2].toSorted((a, b) => b - a));
const many = Array.from({ length: 12000 }, () => draw(3) ? draw(1e5) : letters(3, ['x', 'é', '😀']));
out.push(many.toSorted().slice(0, 300), many.sort().slice(-300));
return JSON.stringify(out, (k, v) => typeof v === 'bigint' ? String(v) : v);
