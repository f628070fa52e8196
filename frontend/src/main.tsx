import '@/app/styles-core';
import { speak } from '@/i18n';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

// The pages' modules hold texts, so the language is settled before the first of them is read.
await speak();
const { show } = await import('@/app/show');
show(root);
