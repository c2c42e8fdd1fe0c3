// Searches in texts whose results are to be the engine's own.
const LONG = [[2600, 420], [40, 3], [12, 1], [5, 0], [900, 1300]];
for (let round = 0; round < 120; round++) {
  const alphabet = ALPHABETS[draw(ALPHABETS.length)];
  const [n, m] = LONG[draw(LONG.length)];
  let text = letters(n, alphabet), sought = letters(m, alphabet);
  const at = draw(n + 1);
  if (draw(3) > 0) text = text.slice(0, at) + sought + text.slice(at) + sought;
  if (draw(3) === 0) { sought = letters(1 + draw(3), alphabet).repeat(150);
    text = sought.repeat(8); }
  const froms = [undefined, 0, draw(n + 9), -3, NaN, Infinity, 1.7, n];
  const instead = ['x', '$$', '[$&]', '$1$<a>', '$', '', "<$'>", '<$`>'][draw(8)];
  const from = froms[draw(froms.length)];
  const limit = [undefined, 0, 1, 2, -1, 2 ** 32 + 1][draw(6)];
  out.push(
    text.includes(sought, from), text.indexOf(sought, from), text.lastIndexOf(sought, from),
    text.lastIndexOf(sought),
    said(() => JSON.stringify(text.split(sought, limit).map((p) => [p.length, p.slice(0, 3)]))),
    said(() => text.replace(sought, instead)),
    said(() => text.length < 2000 ? text.replaceAll(sought, instead) : text.replaceAll(sought,
      'x')),
    said(() => text.replaceAll(sought, (match, place,
      whole) => place + match.length + (whole === text))),
  );
}
for (const odd of [undefined, null, 1, /a/, [], ['a'], { toString: () => 'a' }, Symbol.iterator]) {
  for (const name of ['includes', 'indexOf', 'lastIndexOf', 'split', 'replace', 'replaceAll',
    'match', 'search', 'localeCompare', 'normalize']) {
    out.push(said(() => String('banana undefined null 1'[name](odd, 'x'))));
    out.push(said(() => String(''[name].call(odd, 'a', 'x'))));
    out.push(''[name].length, ''[name].name);
  }
}
return JSON.stringify(out);
