import assert from 'node:assert/strict';
import test from 'node:test';
import { written } from '../../templates/js/ui/copyas.js';

const recipe = {
  what: 'metrics',
  sql: 'SELECT * FROM metrics WHERE key = {key} AND step = {step}',
  command: 'miles-report export DUMP metrics --metric {key} --step {step}',
  run: 'open_run("DUMP").table("metrics", metric={key}, step={step})',
  site: 'open_site("SITE").table("metrics", metric={key}, step={step})',
};

test('plain values', () => {
  const values = { key: 'train/loss', step: 3 };
  assert.equal(written(recipe, 'sql', values), "SELECT * FROM metrics WHERE key = 'train/loss' AND step = 3");
  assert.equal(written(recipe, 'command', values), 'miles-report export DUMP metrics --metric train/loss --step 3');
  assert.equal(written(recipe, 'run', values), 'open_run("DUMP").table("metrics", metric="train/loss", step=3)');
});

test('text is quoted for its language and never filled in twice', () => {
  const values = { key: `a'b"c {step} $(id)`, step: 1 };
  assert.equal(written(recipe, 'sql', values), `SELECT * FROM metrics WHERE key = 'a''b"c {step} $(id)' AND step = 1`);
  assert.equal(written(recipe, 'command', values), `miles-report export DUMP metrics --metric 'a'"'"'b"c {step} $(id)' --step 1`);
  assert.equal(written(recipe, 'site', values), `open_site("SITE").table("metrics", metric="a'b\\"c {step} $(id)", step=1)`);
});

test('what is not known stays a name', () => {
  assert.equal(written(recipe, 'run', { step: 0 }), 'open_run("DUMP").table("metrics", metric={key}, step=0)');
});
