import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { said, setSaid, written } from './said';

const SOME = {
  'Slurm is asked only so often. Please try again in {0} seconds.': '请在 {0} 秒后重试。',
  'There were too many failed logins. Please try again in {0}.': '登录失败过多，请在{0}后重试。',
  '{0} minutes': '{0} 分钟',
  'It was cancelled.': '已取消。',
  'Start it again.': '请重新启动。',
  '{0} is too long.': '{0}太长。',
  'This name is too long.': '名称太长。',
  'There is no partition “{0}”.': '没有分区“{0}”。',
  '{0} of {1} jobs ended.': '{1} 个作业中有 {0} 个已结束。',
  'The node {0} is down (see a.b+c).': '节点 {0} 已宕机（见 a.b+c）。',
  down: '宕机',
};

beforeEach(() => setSaid(SOME));
afterEach(() => setSaid(null));

describe('said', () => {
  it('leaves English as it is', () => {
    setSaid(null);
    expect(said('It was cancelled.')).toBe('It was cancelled.');
  });

  it('leaves what nobody translated as it is', () => {
    expect(said('Something else entirely.')).toBe('Something else entirely.');
    expect(said('')).toBe('');
    expect(said(null)).toBeNull();
    expect(said(undefined)).toBeUndefined();
  });

  it('puts the pieces where the translation wants them', () => {
    expect(said('3 of 10 jobs ended.')).toBe('10 个作业中有 3 个已结束。');
    expect(said('Slurm is asked only so often. Please try again in 7 seconds.')).toBe(
      '请在 7 秒后重试。',
    );
  });

  it('translates the pieces too', () => {
    expect(said('There were too many failed logins. Please try again in 5 minutes.')).toBe(
      '登录失败过多，请在 5 分钟后重试。',
    );
  });

  it("leaves somebody's own word between quotation marks as it is", () => {
    expect(said('There is no partition “down”.')).toBe('没有分区“down”。');
    expect(said('down')).toBe('宕机');
  });

  it('translates a single word only where the portal puts one', () => {
    setSaid({
      '{0} has no {1} left.': '{0} 没有剩余{1:term}。',
      time: '时间',
      CPUs: 'CPU',
    });
    expect(said('time has no time left.')).toBe('time 没有剩余时间。');
    expect(said('time and CPUs has no time and CPUs left.')).toBe(
      'time and CPUs 没有剩余时间和 CPU。',
    );
  });

  it('looks for pieces only so deep', () => {
    setSaid({ 'in {0} it': '在{0}里' });
    expect(said(`${'in '.repeat(20)}x y${' it'.repeat(20)}`).split('在')).toHaveLength(10);
    const again = 'in it '.repeat(300);
    expect(said(again)).toBe(again);
  });

  it('takes the sentence with the most fixed words', () => {
    expect(said('This name is too long.')).toBe('名称太长。');
    expect(said('This word is too long.')).toBe('This word 太长。');
  });

  it('goes sentence by sentence', () => {
    expect(said('It was cancelled. Start it again.')).toBe('已取消。请重新启动。');
    expect(said('It was cancelled. Nobody knows why. Start it again.')).toBe(
      '已取消。Nobody knows why. 请重新启动。',
    );
  });

  it("doesn't let a gap swallow a sentence that has its own words", () => {
    expect(said('It was cancelled. The script is too long.')).toBe('已取消。The script 太长。');
  });

  it('knows two sentences that belong together among others', () => {
    expect(
      said(
        'It was cancelled. Slurm is asked only so often. Please try again in 7 seconds. Start it again.',
      ),
    ).toBe('已取消。请在 7 秒后重试。请重新启动。');
  });

  it('takes signs of the source as they are, and pieces of any kind', () => {
    expect(said('The node $& {0}\nb is down (see a.b+c).')).toBe(
      '节点 $& {0}\nb 已宕机（见 a.b+c）。',
    );
    expect(said('The node n is down (see aXb+c).')).toBe('The node n is down (see aXb+c).');
  });
});

describe('what people write', () => {
  it('is translated only where the whole of it is the portal’s own', () => {
    expect(written('It was cancelled.')).toBe('已取消。');
    expect(written('Start it again. It was cancelled.')).toBe('Start it again. It was cancelled.');
    expect(written('5 minutes')).toBe('5 minutes');
    expect(written('toString')).toBe('toString');
    expect(written(null)).toBeNull();
    expect(written('')).toBe('');
    setSaid(null);
    expect(written('It was cancelled.')).toBe('It was cancelled.');
  });
});
