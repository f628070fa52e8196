import { beforeAll, describe, expect, it } from 'vitest';
import { type Catalogue, said, setSaid } from './said';
import chinese from './said.zh.json';

// What the portal has really said, put together from the sentences of the catalogue.
const SAID: Readonly<Record<string, string>> = {
  'You may use 2 GPUs at once (the limit of your group vision); this asks for 4. Your sessions and jobs hold 1 now. Ask for fewer, or ask your administrators.':
    '您最多可同时使用 2 个 GPU（您所在组 vision 的限额）；此处申请了 4。您的会话和作业现在占用 1 个。请减少申请量，或联系管理员。',
  'You may have 3 sessions at a time; 1 of yours waits or runs now. Stop one, or ask your administrators.':
    '您最多可同时有 3 个会话；现有 1 个在等待或运行。请停止其中一个，或联系管理员。',
  'Partition gpu allows at most 4 hours 30 minutes. So at most 1 hour can be added.':
    '分区 gpu 最长允许 4 小时 30 分钟。因此最多可延长 1 小时。',
  'gpu-01 is kept for maintenance from 3 December, 14:00 UTC. So this session can\'t be given more time.':
    '从 12 月 3 日 14:00 UTC 起，gpu-01 将用于维护。因此该会话不能再延长。',
  'It reached its time limit of 1 day 2 hours and was ended.':
    '它达到了 1 天 2 小时的时间上限，已被终止。',
  '3 of 8 tasks ran out of memory; 1 of 8 tasks were cancelled.':
    '8 个任务中有 3 个内存不足；8 个任务中有 1 个被取消。',
  'With this, your group would have more GPUs than it may.': '这样一来，您的组的GPU会超过它允许的上限。',
  'Epochs must be a whole number.': '“轮数（epoch）”必须是整数。',
  'Learning rate must be more than 0.': '“学习率”必须大于 0。',
  'Inputs must have at most 4096 characters.': '“输入”最多可有 4096 个字符。',
  "No answer for 5 minutes: Slurm can't be reached at the moment.":
    '5 分钟没有响应：暂时无法连接 Slurm。',
  'The portal could not be reached at https://portal (timeout).':
    '在 https://portal 无法连接门户（timeout）。',
  '2 sessions and 1 job would lose this image. Wait for their end, or stop them first.':
    '2 个会话和1 个作业会因此失去该镜像。请等待其结束，或先停止。',
  'You already have a session called “Start it again.”. Stop it first, or choose another name.':
    '您已有名为“Start it again.”的会话。请先停止它，或另选名称。',
  'The first line must name the columns: a column username is missing; there is no column usr. Known: username, name.':
    '第一行必须列出各列名称：缺少列 username；没有列 usr。可用的列：username, name。',
};

describe('the Chinese catalogue', () => {
  beforeAll(() => setSaid(chinese));

  it.each(Object.entries(SAID))('says %s', (english, translated) => {
    expect(said(english)).toBe(translated);
  });

  it('finds every sentence that it has, and puts all pieces in', () => {
    for (const english of Object.keys(chinese as Catalogue)) {
      const pieces = [...english.matchAll(/\{(\d+)\}/g)].map(([, number]) => `xq${number}`);
      const example = english.replace(/\{(\d+)\}/g, 'xq$1');
      const words = said(example);
      const own = (chinese as Catalogue)[english]?.replace(/\{(\d+)\}/g, 'xq$1');
      expect(words, english).toBe(own);
      for (const piece of pieces) expect(words, english).toContain(piece);
    }
  });

  it('leaves what is too long to be a sentence', () => {
    const text = 'It was cancelled. Start it again. '.repeat(1000);
    expect(said(text)).toBe(text);
  });
});
