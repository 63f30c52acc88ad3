// What the charts' program expects of its surroundings and an interpreter alone does not have. There is no document, no network and no clock
// that a chart may depend on.
'use strict';
globalThis.self = globalThis;
// Errors fail the chart that they are in. A warning, such as that there is nothing to draw, is no news to who reads the chart.
globalThis.errors = [];
globalThis.console = { log() {}, info() {}, debug() {}, warn() {}, group() {}, groupEnd() {}, error: (...all) => { errors.push(all.join(' ')); } };
globalThis.structuredClone = own => {
  if (own === null || typeof own !== 'object') return own;
  if (Array.isArray(own)) return own.map(structuredClone);
  if (own instanceof Date) return new Date(own);
  if (own instanceof Set) return new Set([...own].map(structuredClone));
  if (own instanceof Map) return new Map([...own].map(([key, value]) => [key, structuredClone(value)]));
  return Object.fromEntries(Object.entries(own).map(([key, value]) => [key, structuredClone(value)]));
};
globalThis.setTimeout = act => { Promise.resolve().then(act); return 1; };
globalThis.setInterval = () => 0;
globalThis.clearTimeout = globalThis.clearInterval = () => {};
globalThis.performance = { now: () => 0 };
// Days are those of the labels, wherever the machine stands.
for (const part of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']) {
  Date.prototype['get' + part] = Date.prototype['getUTC' + part];
  if (part !== 'Day') Date.prototype['set' + part] = Date.prototype['setUTC' + part];
}
Date.prototype.getTimezoneOffset = () => 0;
