import { PageTitle } from '@/app/PageTitle';
import { MySection } from '@/features/limits/MySection';
import { MyUsage } from '@/features/usage/MyUsage';
import classes from './Account.module.css';
import { SecondFactorSection } from './SecondFactorSection';
import { TokensSection } from './TokensSection';

/** One's own account: what one may use and has used, how one logs in, what one's programs may do. */
export function AccountPage() {
  return (
    <>
      <div className={classes.title}>
        <PageTitle tab="Account">Your account</PageTitle>
      </div>
      <div className={classes.limits}>
        <MySection />
      </div>
      <MyUsage />
      <SecondFactorSection />
      <TokensSection />
    </>
  );
}
