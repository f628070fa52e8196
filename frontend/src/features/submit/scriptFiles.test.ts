import { describe, expect, it } from 'vitest';
import { errorMessage } from '@/api/problem';
import { jobName, MAX_SCRIPT_BYTES, pythonScript, readStartFile } from './scriptFiles';

const file = (name: string, ...parts: BlobPart[]): File => new File(parts, name);

const errorOf = (chosen: File): Promise<string> =>
  readStartFile(chosen).then(
    () => '',
    (error: unknown) => errorMessage(error),
  );

describe('a file that starts a job', () => {
  it('is recognized by its name', async () => {
    expect(await readStartFile(file('train.py', 'print(1)'))).toEqual({ kind: 'python' });
    expect(await readStartFile(file('a.b.IPYNB', '{}'))).toEqual({ kind: 'notebook' });
    expect(await readStartFile(file('job.slurm', 'echo\r\n'))).toEqual({
      kind: 'text',
      text: 'echo\r\n',
    });
  });

  it('is a batch script with #SBATCH lines, in Python too', async () => {
    const text = '#!/usr/bin/env python3\n#SBATCH --time=5\nprint(1)\n';
    expect(await readStartFile(file('train.py', text))).toEqual({ kind: 'text', text });
  });

  it('is refused if it is no script', async () => {
    expect(await errorOf(file('data.csv', 'a,b'))).toContain("can't start a job");
    expect(await errorOf(file('empty.py'))).toContain('is empty');
    expect(await errorOf(file('binary.py', 'PK\0\0'))).toContain('not a text file');
    expect(await errorOf(file('latin.sh', new Uint8Array([0xe9, 10])))).toContain('not a text');
    const long = 'é'.repeat(MAX_SCRIPT_BYTES);
    expect(await errorOf(file('long.sh', long))).toContain('at most 256 KB');
  });

  it('may be large, if it is uploaded', async () => {
    const long = `x${'é'.repeat(MAX_SCRIPT_BYTES)}`;
    expect(await readStartFile(file('long.py', long))).toEqual({ kind: 'python' });
  });

  it('gives the job its name', () => {
    expect(jobName('train.v2.py')).toBe('train.v2');
    expect(jobName('.py')).toBe('.py');
    expect(jobName(`${'n'.repeat(300)}.py`)).toHaveLength(64);
  });

  it('is one word of the command', () => {
    expect(pythonScript('train.py')).toBe('#!/bin/bash\npython3 ~/train.py\n');
    expect(pythonScript("it's; rm.py")).toBe(`#!/bin/bash\npython3 ~/'it'"'"'s; rm.py'\n`);
  });
});
