// Draws numbers by a seed, and texts of a few letters.
let seed = 20261123; const out = [];
const draw = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n;
  };
const letters = (n, from) => { let s = ""; for (let i = 0; i < n;
  i++) s += from[draw(from.length)]; return s; };
const ALPHABETS = [["a"], ["a", "b"], ["a", "é", "😀"], ["a", "\ud83d", "\ude00"], ["$", "&", "a"]];
const said = (f) => { try { const v = f(); return typeof v === "string" ? v.length + v.slice(0,
  40) + v.slice(-40) : v; } catch (e) { return e.name; } };
