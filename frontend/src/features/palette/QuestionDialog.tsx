import { CancelDialog } from '@/features/jobs/CancelDialog';
import { ConfirmStop } from '@/features/sessions/ConfirmStop';
import type { Question } from './commands';

interface Props {
  question: Question;
  opened: boolean;
  onClose: () => void;
}

/** The confirmation of a command, as on the page of its session or job. */
export function QuestionDialog({ question, ...dialog }: Props) {
  return question.kind === 'stop-session' ? (
    <ConfirmStop session={question.session} {...dialog} />
  ) : (
    <CancelDialog job={question.job} {...dialog} />
  );
}
