// What the npm package pprof-format reads in a profile, as JSON on stdout:
// the sum of each sample type, and the default type's by function of the leaf.
//
//   node sums.js MODULES PROFILE    MODULES: the folder node_modules

'use strict';
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const [modules, file] = process.argv.slice(2);
const {Profile} = require(path.resolve(modules, 'pprof-format'));

// Sums of nanoseconds are below 2^53 in a test's profile.
const add = (sums, key, value) => {
  sums[key] = (sums[key] || 0) + Number(value);
};

const bytes = fs.readFileSync(file);
const profile = Profile.decode(bytes[0] === 0x1f ? zlib.gunzipSync(bytes)
                                                 : bytes);
const text = (index) => profile.stringTable.strings[Number(index)];
const byId = (table) => new Map(table.map((entry) => [Number(entry.id), entry]));
const locations = byId(profile.location);
const functions = byId(profile.function);
const types = profile.sampleType.map((type) => text(type.type));
const chosen = types.indexOf(text(profile.defaultSampleType));

const totals = {}, flat = {};
for (const sample of profile.sample) {
  types.forEach((type, index) => add(totals, type, sample.value[index]));
  const [line] = locations.get(Number(sample.locationId[0])).line;
  const leaf = functions.get(Number(line.functionId));
  add(flat, text(leaf.name), sample.value[chosen]);
}
process.stdout.write(JSON.stringify({totals, flat}));
