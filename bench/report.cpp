// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fstream>
#include <stdexcept>

namespace bwgemm::bench {

namespace {

std::FILE* open_file(const std::string& path, const char* mode) {
  if (path.empty()) return nullptr;
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  return file;
}

double tflops(const BenchProblem& problem, double microseconds) {
  return microseconds > 0 ? problem.flop() / microseconds * 1e-6 : 0;
}

constexpr const char* csv_header =
    "name,forced,m,n,k,transa,transb,dtype,out,beta,batch,kernel,check,bwgemm_us,first_us,best_us,"
    "ratio_first,ratio_first_q1,ratio_first_q3,ratio_best,ratio_best_q1,ratio_best_q3,tflops,"
    "first_tflops,algorithms,best_algorithm,bwgemm_host_ns,cublaslt_host_ns,operand_sets\n";

}  // namespace

std::string Report::key(const BenchProblem& problem, const std::string& forced_kernel) {
  return problem.name + "," + forced_kernel;
}

Report::Report(const std::string& csv, const std::string& json, bool resume) {
  std::ifstream existing(resume ? csv : std::string());
  for (std::string line; std::getline(existing, line);) {
    const std::size_t second = line.find(',', line.find(',') + 1);
    done_.insert(line.substr(0, second));
  }
  csv_ = open_file(csv, done_.empty() ? "w" : "a");
  if (csv_ != nullptr && done_.empty()) std::fputs(csv_header, csv_);
  json_ = open_file(json, "w");
  if (json_ != nullptr) std::fputs("[\n", json_);
  std::printf("%-34s %-46s %9s %9s %9s %7s %7s %7s  %s\n", "problem", "kernel", "bwgemm us",
              "first us", "best us", "/first", "/best", "TFLOP/s", "check");
}

Report::~Report() {
  if (csv_ != nullptr) std::fclose(csv_);
  if (json_ != nullptr) {
    std::fputs("\n]\n", json_);
    std::fclose(json_);
  }
}

bool Report::has(const BenchProblem& problem, const std::string& forced_kernel) const {
  return done_.contains(key(problem, forced_kernel));
}

void Report::add(const BenchProblem& p, const std::string& forced_kernel, const Measurement& r) {
  std::printf("%-34s %-46s %9.2f %9.2f %9.2f %7.3f %7.3f %7.1f  %s\n", p.name.c_str(),
              r.kernel.c_str(), r.bwgemm_us, r.first_us, r.best_us, r.over_first.median,
              r.over_best.median, tflops(p, r.bwgemm_us), r.check.c_str());
  std::fflush(stdout);
  if (csv_ != nullptr) {
    std::fprintf(
        csv_,
        "%s,%s,%lld,%lld,%lld,%c,%c,%s,%s,%g,%lld,%s,%s,%.3f,%.3f,%.3f,%.4f,%.4f,%.4f,%.4f,"
        "%.4f,%.4f,%.1f,%.1f,%d,%d,%.0f,%.0f,%d\n",
        p.name.c_str(), forced_kernel.c_str(), static_cast<long long>(p.m),
        static_cast<long long>(p.n), static_cast<long long>(p.k), p.transa ? 'T' : 'N',
        p.transb ? 'T' : 'N', short_name(p.input), short_name(p.output),
        static_cast<double>(p.beta), static_cast<long long>(p.batch), r.kernel.c_str(),
        r.check.c_str(), r.bwgemm_us, r.first_us, r.best_us, r.over_first.median, r.over_first.low,
        r.over_first.high, r.over_best.median, r.over_best.low, r.over_best.high,
        tflops(p, r.bwgemm_us), tflops(p, r.first_us), r.algorithms, r.best_algorithm,
        r.bwgemm_host_ns, r.cublaslt_host_ns, r.operand_sets);
    std::fflush(csv_);
  }
  if (json_ != nullptr) {
    std::fprintf(
        json_,
        "%s{\"name\": \"%s\", \"kernel\": \"%s\", \"check\": \"%s\", \"bwgemm_us\": %.3f, "
        "\"first_us\": %.3f, \"best_us\": %.3f, \"ratio_first\": %.4f, \"ratio_best\": %.4f, "
        "\"tflops\": %.1f, \"bwgemm_host_ns\": %.0f, \"cublaslt_host_ns\": %.0f}",
        json_empty_ ? "" : ",\n", p.name.c_str(), r.kernel.c_str(), r.check.c_str(), r.bwgemm_us,
        r.first_us, r.best_us, r.over_first.median, r.over_best.median, tflops(p, r.bwgemm_us),
        r.bwgemm_host_ns, r.cublaslt_host_ns);
    json_empty_ = false;
  }
}

void Report::skip(const BenchProblem& problem, const std::string& why) {
  std::printf("%-34s not run: %s\n", problem.name.c_str(), why.c_str());
  std::fflush(stdout);
}

}  // namespace bwgemm::bench
