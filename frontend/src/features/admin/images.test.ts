import { describe, expect, it } from 'vitest';
import type { ImageImport } from '@/api/types';
import { importStateLabel, progressText, suggestedFile } from './images';

const ROW: ImageImport = {
  id: '1',
  reference: 'docker://docker.io/library/debian:12',
  file: 'debian.sif',
  replace: false,
  state: 'running',
  stopping: false,
  phase: null,
  percent: null,
  bytes_done: null,
  bytes_total: null,
  reason: null,
  requested_by: 'carol',
  created_at: '2030-01-01T00:00:00Z',
  started_at: null,
  ended_at: null,
  size_bytes: null,
  sha256: null,
};

describe('the labels of an import', () => {
  it('shows the current step, with known figures', () => {
    expect(progressText(ROW)).toBe('Asking the registry');
    expect(progressText({ ...ROW, phase: 'fetching' })).toBe('Fetching');
    expect(progressText({ ...ROW, phase: 'fetching', bytes_done: 3_200_000 })).toBe(
      'Fetching: 3.1 MB so far',
    );
    expect(progressText({ ...ROW, phase: 'packing', percent: 40 })).toBe('Packing one file: 40 %');
    expect(progressText({ ...ROW, state: 'queued' })).toBe('Queued after another import');
  });

  it('shows that it is stopping', () => {
    expect(importStateLabel({ ...ROW, stopping: true }).label).toBe('Stopping');
    expect(progressText({ ...ROW, phase: 'fetching', stopping: true })).toBe('Stopping');
  });
});

describe('the suggested name of a file', () => {
  it.each([
    ['docker://nvcr.io/nvidia/pytorch:24.05-py3', 'pytorch-24.05-py3.sif'],
    ['docker://debian', 'debian.sif'],
    ['docker://host:5000/a/b', 'b.sif'],
    [`docker://ghcr.io/a/tool@sha256:${'0'.repeat(64)}`, 'tool.sif'],
    ['oras://host/x/', ''],
    ['', ''],
  ])('of %s is %s', (reference, file) => {
    expect(suggestedFile(reference)).toBe(file);
  });
});
